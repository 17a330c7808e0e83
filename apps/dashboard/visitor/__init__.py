"""What one visitor has, has chosen and may do. Nothing here knows Panel."""
