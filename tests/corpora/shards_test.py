"""Files cut into slices: joined they are the file, and each is read as in the whole file."""

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.parquet import write_table

from allennlp_nef.corpora.shards import (
    FORMATS,
    ParquetRows,
    plan,
    read_instances,
    sentences_of,
    split_file,
)
from allennlp_nef.data.dataset_readers import ConllTagsReader
from allennlp_nef.data.formats.conll_columns import read_columns
from allennlp_nef.data.formats.conllu import read_conllu
from allennlp_nef.data.formats.text_files import FileSlice
from allennlp_nef.data.formats.wmt_word_qe import read_examples
from allennlp_nef.errors import DataFormatError

WORD = "1\ta\t_\tX\t_\t_\t_\t_\t_\t_"
READ = {"conll": read_columns, "conllu": read_conllu}
LINES = {
    "conll": ["a O", "b\tO", " -DOCSTART- O", "-X- O", "", " ", "\t", "\u2028 O"],
    "conllu": [f"# x\n{WORD}\n", f"{WORD}\n\n", "", " ", f"# y\r\n{WORD}\r\n\r"],
}
LIMITS = settings(
    deadline=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def content(path):
    with open(path, "rb") as file:
        file.seek(path.start)
        return file.read(path.end - path.start)


@pytest.mark.parametrize("format", ["conll", "conllu"])
@LIMITS
@given(data=st.data(), size=st.integers(1, 3), mark=st.booleans())
def test_slices_have_the_sentences_that_the_reader_finds(tmp_path, format, data, size, mark):
    lines = data.draw(st.lists(st.sampled_from(LINES[format]), max_size=12))
    path = tmp_path / "x"
    text = ("\ufeff" if mark else "") + "\n".join(lines)
    path.write_bytes(text.encode("utf-8"))
    slices = list(split_file(str(path), FORMATS[format](), size))
    try:
        expected = list(READ[format](str(path)))
    except DataFormatError as error:
        assert not slices and "expected at least one sentence" in str(error)
        return
    assert b"".join(content(each) for each, _ in slices) == path.read_bytes()
    assert [count for _, count in slices[:-1]] == [size] * (len(slices) - 1)
    found = [list(READ[format](each)) for each, _ in slices]
    assert list(map(len, found)) == [count for _, count in slices]
    assert sum(found, []) == expected


def write_parallel(folder, sentences, last_end="\n"):
    for name in ("src", "mt", "tags", "src-mt.alignments"):
        lines = [each.get(name, "") for each in sentences]
        (folder / f"x.{name}").write_text("\n".join(lines) + last_end)
    return str(folder / "x")


@pytest.mark.parametrize("last_end", ["\n", ""])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_slices_of_parallel_files_belong_together(tmp_path, size, last_end):
    sentences = [
        {"src": "a b", "mt": "c" + " c" * i, "tags": "OK" + " BAD" * i, "src-mt.alignments": "0-0"}
        for i in range(4)
    ]
    sentences[-1]["src-mt.alignments"] = ""
    prefix = write_parallel(tmp_path, sentences, last_end)
    (described,), shards = plan([(prefix, "wmt")], size)
    assert described.sentences == 4 and set(described.files) == set(shards[0].slices)
    expected = list(read_examples(prefix))
    assert [each for shard in shards for each in read_examples(shard.slices)] == expected
    alone = [read_examples(each) for shard in shards for each in sentences_of(shard, "wmt")]
    assert [each for (each,) in map(list, alone)] == expected


def test_parallel_files_of_different_lengths_are_an_error(tmp_path):
    prefix = write_parallel(tmp_path, [{"src": "a", "mt": "b", "tags": "OK"}] * 3)
    (tmp_path / "x.mt").write_text("b\n" * 5)
    with pytest.raises(DataFormatError, match=r"x\.src:4: expected a line for each of the 5 lines"):
        plan([(prefix, "wmt")], 3)


def test_an_error_in_a_slice_has_the_line_and_the_byte_of_the_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"a O\n\nb O\n\nc O\n\xff O\n")
    last, _ = list(split_file(str(path), FORMATS["conll"](), 1))[-1]
    with pytest.raises(DataFormatError) as info:
        list(read_columns(last))
    assert str(info.value) == f"{path}:6: expected utf-8, got byte 0xff as byte 15 of the file"


def test_damaged_rows_of_parquet_files_are_named(tmp_path):
    path = tmp_path / "a.parquet"
    write_table(pyarrow.table({"x": [str(i) for i in range(99)]}), path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(byte ^ 255 for byte in data[4:60]) + data[60:])
    with pytest.raises(DataFormatError, match="a.parquet:3: expected rows that can be decoded"):
        ParquetRows().table(FileSlice(str(path), 2, 9, 3))


def test_slices_of_parquet_files_have_their_rows_in_any_order(tmp_path):
    for name, groups in (("a", 10), ("b", 5000)):
        table = pyarrow.table({"n": list(range(5000)), "name": [name] * 5000})
        write_table(table, tmp_path / name, row_group_size=groups)
    rows = ParquetRows()
    for name, start, end in (("a", 0, 7), ("a", 2000, 4100), ("b", 3, 9), ("b", 1, 5000)):
        table = rows.table(FileSlice(str(tmp_path / name), start, end, start + 1))
        assert table["n"].to_pylist() == list(range(start, end))
        assert set(table["name"].to_pylist()) == {name}


def test_a_block_of_comments_alone_has_a_message(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("# source a\n\n1 Der O\n2 Hund O\n\n# source b\n1 Er O\n")
    _, (shard,) = plan([(str(path), "conll")], 10)
    reader = ConllTagsReader(comment_prefix="#", tag_column=-1)
    message, *instances = read_instances(reader, shard, "conll")
    assert message.startswith(f"{path}") and len(instances) == shard.sentences - 1 == 2
