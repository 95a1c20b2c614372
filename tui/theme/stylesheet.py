"""The stylesheet: it keeps what it parsed for each theme, and goes only through the rules that matter to a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from textual.cache import LRUCache
from textual.css._style_properties import ColorProperty
from textual.css.model import RuleSet
from textual.css.styles import RulesMap, StylesBase
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widget import Widget

__all__ = ["CachedStylesheet"]

MOST_THEMES = 4
MOST_SOURCES = 256
COLOURS: Final = frozenset(name for name, rule in vars(StylesBase).items() if isinstance(rule, ColorProperty))
"""The rules that change nothing but a colour."""


class CachedStylesheet(Stylesheet):
    """Parses each source once for a theme, and looks at only those rules that may be meant for a node."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parsed: LRUCache[frozenset[tuple[str, str]], LRUCache[tuple[object, ...], list[RuleSet]]]
        self._parsed = LRUCache(MOST_THEMES)
        self._places: dict[RuleSet, int] = {}
        self._meant: dict[frozenset[str], list[RuleSet]] = {}
        self._meant_of: Mapping[str, list[RuleSet]] | None = None
        self.set_variables(self._variables)

    # Parsing

    def set_variables(self, variables: dict[str, str]) -> None:
        """Take other variables, and take up what was parsed with them before."""
        # Textual empties the one it has.
        self._parse_cache = LRUCache(1)
        super().set_variables(variables)
        self._parse_cache = self._parsed_with(variables)

    def reparse(self) -> None:
        """Take the rules with the variables as they are now; only what was never parsed with them is parsed."""
        self.parse()

    def preparing(self, variables: dict[str, str]) -> Iterator[None]:
        """Parse for other variables, a source at each step, so that `set_variables` will find it done."""
        beside = Stylesheet(variables=variables)
        beside._parse_cache = self._parsed_with(variables)
        for place, source in list(self.source.items()):
            beside._parse_rules(source.content, place, source.is_defaults, source.tie_breaker, source.scope)
            yield

    def _parsed_with(self, variables: Mapping[str, str]) -> LRUCache[tuple[object, ...], list[RuleSet]]:
        key = frozenset(variables.items())
        parsed = self._parsed.get(key)
        if parsed is None:
            parsed = self._parsed[key] = LRUCache(MOST_SOURCES)
        return parsed

    # Styling

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[object, ...], RulesMap] | None = None
    ) -> None:
        """Style a node; the rules that cannot be meant for it are not gone through."""
        rules_map = self.rules_map
        if rules_map is not self._meant_of:
            self._meant_of = rules_map
            self._meant.clear()
            self._places = {rule: place for place, rule in enumerate(self._rules)}
        names = frozenset(rules_map.keys() & node._selector_names)
        meant = self._meant.get(names)
        if meant is None:
            found = {rule for name in names for rule in rules_map[name]}
            meant = self._meant[names] = sorted(found, key=self._places.__getitem__)
        every, self._rules = self._rules, meant
        try:
            super().apply(node, animate=animate, cache=cache)
        finally:
            self._rules = every

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Set the rules of a node; however many colours change, all that shows them is refreshed once."""
        base = node.styles.base
        old = base._rules
        colours = {name for name in COLOURS & (old.keys() | rules.keys()) if old.get(name) != rules.get(name)}
        if animate or not colours:
            super().replace_rules(node, rules, animate)
            return
        changed: RulesMap = {name: rules[name] for name in colours if rules.get(name) is not None}  # type: ignore[assignment,literal-required]
        for name in colours:
            old.pop(name, None)  # type: ignore[misc]
        old.update(changed)
        base._updates += 1
        base.refresh(children=True)
        if isinstance(node, Widget):
            if node.show_horizontal_scrollbar:
                node.horizontal_scrollbar.refresh()
            if node.show_vertical_scrollbar:
                node.vertical_scrollbar.refresh()
        super().replace_rules(node, rules, animate)
