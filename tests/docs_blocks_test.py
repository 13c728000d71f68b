"""How the blocks of a page are read, and what counts as the same output."""

import pytest

from tests.docs_blocks import blocks_of, difference

PAGE = """
```bash
ls
```

It prints

```text
a
b
```

<!-- file: x.py -->
```python
print(1)
```

<!-- not run: it is slow -->
```python
print(2)
```
"""


def test_blocks_have_their_output_and_their_comment():
    listing, file, slow = blocks_of(PAGE)
    assert (listing.language, listing.text, listing.output) == ("bash", "ls\n", "a\nb\n")
    assert (listing.line, listing.is_run) == (3, True)
    assert (file.key, file.value, file.text, file.is_run) == ("file", "x.py", "print(1)\n", False)
    assert (slow.key, slow.value, slow.is_run) == ("not run", "it is slow", False)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```text\na\n```\n", "line 2: expected a block that is run before this output"),
        ("```bash\nls\n```\n```text\na\n```\n```text\na\n```\n", "line 8: expected a block"),
        ("<!-- not run: x -->\n```bash\nls\n```\n```text\na\n```\n", "line 6: expected a block"),
        ("<!-- not run -->\n```bash\nls\n```\n", "line 3: expected <!-- not run: ... -->"),
        ("```ruby\n1\n```\n", "line 2: expected bash, python, text or a file, got 'ruby'"),
        ("```bash\nls\n", "expected that each block is closed"),
    ],
)
def test_mistakes_in_a_page_are_errors(page, message):
    with pytest.raises(ValueError, match=message):
        blocks_of(page)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("a  b\n", "a b"),
        ("F1 96.17", "F1  97.5"),
        ("p = 0.03", "p = 0.0449"),
        ("0.00003", "3e-05"),
        ("100 files", "102 files"),
        ("x\n...\ny", "x\nanything\nat all\ny"),
        ("...\nEpoch 4\n...", "Epoch 1\na\nEpoch 4\nb"),
        ('{"a": 1,\n "b": 2}', '{"a": 1, "b": 2}'),
        ("-0.5 to 0.5", "-0.5 to +0.5"),
    ],
)
def test_outputs_that_count_as_the_same(expected, got):
    assert difference(expected, got) is None


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("a b", "ab"),
        ("a", "a b"),
        ("F1 96.17", "F1 98.2"),
        ("p = 0.03", "p = 0.06"),
        ("49 files", "50 files"),
        ("0.5", "-0.5"),
        ("x\n...\ny", "x\nz"),
        ("B-PER", "I-PER"),
    ],
)
def test_outputs_that_count_as_different(expected, got):
    assert difference(expected, got)
