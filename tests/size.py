"""How much source there is, by room: lines of code alone, and all lines. `python -m tests.size [folder]`."""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "deniable"
QUIET = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """Lines that hold code: no blank ones, no comments, no docstrings.

    >>> code_lines('def f():\\n    \\"\\"\\"What it does.\\"\\"\\"\\n\\n    return 1  # one\\n')
    2
    """
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            told |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    held = {line for token in tokens if token.type not in QUIET for line in range(token.start[0], token.end[0] + 1)}
    return len(held - told)


def main(folder: Path) -> None:
    code, whole = Counter[str](), Counter[str]()
    for path in folder.rglob("*.py"):
        room, text = path.relative_to(folder).parts[0].removesuffix(".py"), path.read_text()
        code[room] += code_lines(text)
        whole[room] += len(text.splitlines())
    for room, lines in [*code.most_common(), ("in all", code.total())]:
        print(f"{room:<14}{lines:>7}{whole[room] if room in whole else whole.total():>8}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
