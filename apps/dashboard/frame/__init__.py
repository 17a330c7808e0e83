"""The page around the tabs: header, link, tour, files."""
