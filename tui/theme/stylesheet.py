"""A stylesheet that parses each source once, and applies only the rules that can match a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

MOST_SOURCES = 256


class CachedStylesheet(Stylesheet):
    """Parses each source once until the theme changes, and checks only the rules that can match a node."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        # Textual's own has room for fewer sources than there are.
        self._parse_cache = LRUCache(MOST_SOURCES)
        self._places: dict[RuleSet, int] = {}
        self._candidates: dict[frozenset[str], list[RuleSet]] = {}
        self._candidates_of: Mapping[str, list[RuleSet]] | None = None
        self._keeps_components = False

    def reparse(self) -> None:
        """Apply the current variables; parses only what was not parsed with them before."""
        self.parse()

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[object, ...], RulesMap] | None = None
    ) -> None:
        """Style a node; skips the rules that cannot match it."""
        rules_map = self.rules_map
        if rules_map is not self._candidates_of:
            self._candidates_of = rules_map
            self._candidates.clear()
            self._places = {rule: place for place, rule in enumerate(self._rules)}
        names = frozenset(rules_map.keys() & node._selector_names)
        candidates = self._candidates.get(names)
        if candidates is None:
            found = {rule for name in names for rule in rules_map[name]}
            candidates = self._candidates[names] = sorted(found, key=self._places.__getitem__)
        every, self._rules = self._rules, candidates
        try:
            super().apply(node, animate=animate, cache=cache)
        finally:
            self._rules = every

    def update_layout(self, nodes: Iterable[DOMNode]) -> None:
        """Style nodes again, but not their component classes, which are most of the work and do not depend on it."""
        self._keeps_components = True
        try:
            self.update_nodes(nodes)
        finally:
            self._keeps_components = False

    def _process_component_classes(self, node: DOMNode) -> None:
        if not self._keeps_components:
            super()._process_component_classes(node)
