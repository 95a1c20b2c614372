"""Answers in Markdown of any length, with everything a model writes: headings, lists, tables, code, links, quotes."""

from __future__ import annotations

import itertools

from tests.e2e.scripted_model import PIECE

SECTION = """\
## {0}. What the week brought

The makers of chips told what they make: **stacks of {0} layers**, *three months early*, with `hbm_{0}` beside. A \
second foundry has begun the risk production of a process that moves the power to the back of the wafer, and [the \
notes of the makers](https://paper-{0}.example/articles/{0}) give the figures that the talk left out.

- **Foundries** raise their prices by {0} percent, those who ordered early pay what they were told
- Memory stays short until the autumn
  - of the newest kind there is none to be had
  - of the older kinds there is enough
- The tools that etch come from two makers

1. Ask for the figures of the quarter.
2. Compare them with `table_{0}`.
3. Write down what does not fit.

```python
def share(rows: list[Row], maker: str = "maker {0}") -> float:
    # What one maker has of all that was sold.
    total = sum(row.sold for row in rows)
    return sum(row.sold for row in rows if row.maker == maker) / total if total else 0.0
```

| Part | Made for | Ships | Price |
|---|---|---|--:|
| Halden H{0} | serving | March | {0}00 |
| Quillmark Q{0} | training | autumn | {0}50 |
| Ostrava O{0} | both | next year | {0}75 |

> Two of the pages could not be read; what stands here rests on the other {0}.

"""


FILLING = "What is left to say fills the rest of the answer, and says nothing. "


def marker(number: int) -> str:
    """The word that ends answer `number`, which stands nowhere else."""
    return f"ᚠᚢᚦ{number}ᚦᚢᚠ"


def answer(number: int, pieces: int) -> str:
    """A text that the scripted model streams in so many pieces, its marker in a line of its own at the end."""
    end = f"\n\n{marker(number)}\n"
    room = pieces * PIECE - len(end)
    text = ""
    for section in map(SECTION.format, itertools.count(1)):
        if len(text) + len(section) > room:
            break
        text += section
    return text + (FILLING * PIECE)[: room - len(text)].rstrip().ljust(room - len(text), ".") + end
