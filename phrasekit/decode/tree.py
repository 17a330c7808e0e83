"""The token tree that proposers grow and the model verifies in one forward."""

from __future__ import annotations

from collections.abc import Sequence

from phrasekit.trace.records import WINDOW, Branch, TreeRecord

ROOT = -1


class TokenTree:
    """Nodes in topological order behind a root, the last committed token.

    Sequences that share a prefix share nodes (a trie). Proposals are untrusted: tokens outside the
    vocabulary, nodes deeper than `limit` and everything behind an end token are dropped and counted.

    Attributes:
        trunk: nodes of the base draft, in order.
        branches: every phrase or copy proposed beside or behind the trunk.
        silent: window nodes whose pick nobody needs.
    """

    def __init__(self, *, vocabulary: int, limit: int, ends: frozenset[int] = frozenset()) -> None:
        self.vocabulary = vocabulary
        self.limit = limit
        self.ends = ends
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.kinds: list[str] = []
        self.phrases: list[int] = []
        self.trunk: list[int] = []
        self.branches: list[Branch] = []
        self.silent: set[int] = set()
        self.dropped = 0
        self._depths: list[int] = []
        self._children: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def child(self, node: int, token: int) -> int | None:
        """The child of `node` that proposes `token`, or None."""
        return self._children.get((node, token))

    def children(self, node: int) -> list[int]:
        """Tokens proposed after `node`, in the order they came; none of the window's."""
        return [token for parent, token in self._children if parent == node]

    def depth(self, node: int) -> int:
        """Tokens between the root and `node`, itself included; 0 for the root."""
        return self._depths[node] if node >= 0 else 0

    def path_tokens(self, node: int) -> list[int]:
        """Tokens from the root's child down to `node`; [] for the root."""
        tokens: list[int] = []
        while node >= 0:
            tokens.append(self.tokens[node])
            node = self.parents[node]
        return tokens[::-1]

    def add(self, parent: int, token: int, kind: str, phrase: int = -1) -> int | None:
        """Propose `token` after `parent`; return its node, or None where it was dropped."""
        node = self._children.get((parent, token))
        if node is not None:
            return node
        depth = self.depth(parent) + 1
        behind_end = parent >= 0 and self.tokens[parent] in self.ends
        if not 0 <= token < self.vocabulary or depth > self.limit or behind_end:
            self.dropped += 1
            return None
        node = self._children[parent, token] = self._append(parent, token, kind, phrase, depth)
        return node

    def add_branch(self, parent: int, tokens: Sequence[int], kind: str, phrase: int = -1) -> None:
        """Propose a sequence after `parent`, as far as it is not dropped."""
        nodes: list[int] = []
        for token in tokens:
            node = self.add(parent, token, kind, phrase)
            if node is None:
                self.dropped += len(tokens) - len(nodes) - 1
                break
            nodes.append(node)
            parent = node
        if nodes:
            self.branches.append(Branch(kind, phrase, tuple(nodes)))

    def extend_trunk(self, tokens: Sequence[int], kinds: Sequence[str], phrases: Sequence[int]) -> None:
        """Lengthen the base draft, from the root or from its last node on."""
        parent = self.trunk[-1] if self.trunk else ROOT
        for place, (token, kind, phrase) in enumerate(zip(tokens, kinds, phrases, strict=True)):
            node = self.add(parent, token, kind, phrase)
            if node is None:
                self.dropped += len(tokens) - place - 1
                return
            self.trunk.append(node)
            parent = node

    def add_window(self, parent: int, token: int, *, silent: bool) -> int:
        """A lookahead row: computed in the same forward, never followed by the walk."""
        node = self._append(parent, token, WINDOW, -1, self.depth(parent) + 1)
        if silent:
            self.silent.add(node)
        return node

    def record(self) -> TreeRecord:
        """The tree as plain data."""
        return TreeRecord(
            tokens=tuple(self.tokens),
            parents=tuple(self.parents),
            kinds=tuple(self.kinds),
            phrases=tuple(self.phrases),
            trunk=tuple(self.trunk),
            branches=tuple(self.branches),
            dropped=self.dropped,
        )

    def _append(self, parent: int, token: int, kind: str, phrase: int, depth: int) -> int:
        self.tokens.append(token)
        self.parents.append(parent)
        self.kinds.append(kind)
        self.phrases.append(phrase)
        self._depths.append(depth)
        return len(self.tokens) - 1
