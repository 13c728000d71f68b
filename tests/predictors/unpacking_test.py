"""Archives are unpacked into their folder, whole, and no more than a limit."""

import gzip
import io
import random
import sys
import tarfile
import tempfile

import pytest
from allennlp.models.archival import extracted_archive

from allennlp_nef.errors import ArchiveError, UserError
from allennlp_nef.predictors import archives as unpacking
from allennlp_nef.predictors.archives import LIMIT_VARIABLE, load_predictor, unpack
from tests.predictors.small_archives import member, write_members


@pytest.fixture
def inside(tmp_path):
    """The folder to unpack into. It lies in another folder, which has one other file."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "victim").write_text("safe")
    folder = tmp_path / "outside" / "inside"
    folder.mkdir()
    return folder


def is_unchanged(inside):
    outside = inside.parent
    names = sorted(path.name for path in outside.iterdir())
    return names == ["inside", "victim"] and (outside / "victim").read_text() == "safe"


def refused(members, inside, *messages):
    path = write_members(inside.parent.parent / "model.tar.gz", members)
    with pytest.raises(ArchiveError) as raised:
        unpack(str(path), str(inside), str(path))
    assert str(raised.value).startswith(f"{path}: {messages[0]}"), raised.value
    assert is_unchanged(inside)
    return path


def out_of(inside, kind):
    """Members that write to a file outside of the folder."""
    outside = str(inside.parent)
    content = b"changed"
    return {
        "relative": [member("../victim", content)],
        "absolute": [member(f"{outside}/victim", content)],
        "symbolic link": [
            member("a", type=tarfile.SYMTYPE, linkname=outside),
            member("a/victim", content),
        ],
        "hard link": [
            member("a", type=tarfile.LNKTYPE, linkname=f"{outside}/victim"),
            member("a", content),
        ],
    }[kind]


@pytest.mark.parametrize("kind", ["relative", "absolute", "symbolic link", "hard link"])
def test_members_outside_of_the_folder_are_refused(inside, monkeypatch, kind):
    members = out_of(inside, kind)
    path = refused(members, inside, "a: expected a" if "link" in kind else "expected names of")
    if sys.version_info >= (3, 14):
        return  # Python refuses them, too
    monkeypatch.setattr(tempfile, "mkdtemp", lambda: str(inside))
    with extracted_archive(path, cleanup=False):  # as AllenNLP does it
        assert not is_unchanged(inside)


def test_devices_and_members_with_the_same_name_are_refused(inside):
    refused([member("a", type=tarfile.FIFOTYPE)], inside, "a: expected a file or a folder")
    refused([member("a", type=tarfile.CHRTYPE)], inside, "a: expected a file or a folder")
    refused([member("b", b"1"), member("./b", b"2")], inside, "expected one member b, got two")


def test_links_to_files_of_the_archive_become_copies(inside, tmp_path):
    members = [
        member("a/b", b"1"),
        member("c", type=tarfile.LNKTYPE, linkname="a/b"),
        member("a/d", type=tarfile.SYMTYPE, linkname="../c"),
    ]
    path = write_members(tmp_path / "model.tar.gz", members)
    assert unpack(str(path), str(inside), "x") == {"a/b": 1, "c": 1, "a/d": 1}
    assert not any(file.is_symlink() for file in inside.rglob("*"))
    assert (inside / "a" / "d").read_bytes() == b"1"


class TestLimits:
    @pytest.fixture(autouse=True)
    def limit(self, monkeypatch):
        monkeypatch.setenv(LIMIT_VARIABLE, "0.001")

    def test_too_large_members_are_refused(self, inside):
        size = 2**20
        message = "expected at most 0.001 GiB when it is unpacked, got more"
        refused([member(name, bytes(size)) for name in "ab"], inside, message)
        link = {"type": tarfile.LNKTYPE, "linkname": "c"}
        refused([member("c", bytes(size)), member("d", **link)], inside, message)

    def test_too_large_headers_are_refused(self, inside):
        # tarfile of Python 3.14 reads the name in parts; then it is too long for the file system.
        is_read = sys.version_info >= (3, 14)
        message = "expected an archive that can" if is_read else "expected headers of at most 1 MiB"
        refused([member("a" * 2**21)], inside, message)

    def test_too_many_members_are_refused(self, inside, monkeypatch):
        monkeypatch.setattr(unpacking, "MAX_MEMBERS", 5)
        members = [member("a", type=tarfile.DIRTYPE) for _ in range(6)]
        refused(members, inside, "expected at most 5 members")

    def test_a_limit_that_is_not_a_number_is_named(self, inside, monkeypatch):
        monkeypatch.setenv(LIMIT_VARIABLE, "1 GB")
        with pytest.raises(UserError, match=f"^{LIMIT_VARIABLE}: expected a number, got '1 GB'$"):
            unpack(__file__, str(inside), "x")


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path):
        members = [
            member("config.json", b"{}"),
            member("weights.th", bytes(random.Random(0).choices(range(256), k=9999))),
        ]
        return write_members(tmp_path / "model.tar.gz", members)

    def test_a_truncated_archive_is_named(self, path):
        path.write_bytes(path.read_bytes()[:-1000])
        message = "expected the archive of a trained model, got one that ends early: copy or download it again"
        with pytest.raises(ArchiveError, match=f"^{path}: {message}$"):
            load_predictor(str(path))

    def test_another_file_is_named(self, path):
        path.write_text("no archive")
        message = "expected the archive of a trained model, got another or a damaged file"
        with pytest.raises(ArchiveError, match=f"^{path}: {message}"):
            load_predictor(str(path))

    def test_a_file_that_may_not_be_read_is_named(self, path, monkeypatch):
        def fail(file, *arguments):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("allennlp_nef.predictors.archives.open", fail, raising=False)
        message = "expected an archive that can be unpacked, got 'Permission denied'"
        with pytest.raises(ArchiveError, match=f"^{path}: {message}$"):
            load_predictor(str(path))

    def test_a_full_disk_is_named(self, path, monkeypatch):
        def fail(*arguments):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("shutil.copyfileobj", fail)
        message = f"can be unpacked in {tempfile.gettempdir()}, got 'No space left on device'"
        with pytest.raises(ArchiveError, match=f"^{path}: expected an archive that {message}$"):
            load_predictor(str(path))

    def test_any_damage_is_an_error_that_names_the_archive(self, path, tmp_path):
        """Bytes that are changed or cut off by chance, before and after compression."""
        numbers, data = random.Random(0), path.read_bytes()
        tar = gzip.decompress(data)
        for number in range(200):
            is_tar = number % 2
            changed = bytearray(tar if is_tar else data)
            for _ in range(numbers.randrange(1, 4)):
                changed[numbers.randrange(min(len(changed), 1024))] = numbers.randrange(256)
            del changed[numbers.choice([len(changed), numbers.randrange(len(changed))]) :]
            path.write_bytes(gzip.compress(bytes(changed), 1) if is_tar else bytes(changed))
            folder = tmp_path / str(number)
            folder.mkdir()
            try:
                unpack(str(path), str(folder), "the archive")
            except ArchiveError as error:
                assert str(error).startswith("the archive: expected ")


def test_whatever_the_members_are_nothing_is_written_outside(inside, tmp_path):
    """Archives of members with names, kinds and links by chance."""
    numbers = random.Random(0)
    parts = ["..", ".", "a", "b", "victim", "", "\N{SNOWMAN}"]
    kinds = [tarfile.REGTYPE] * 3 + [tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, b"3", b"S"]

    def name():
        return "/".join(numbers.choices(parts, k=numbers.randrange(1, 4))) or "."

    accepted = 0
    for number in range(200):
        stream = io.BytesIO()
        with gzip.open(stream, "wb", 1) as file, tarfile.open(fileobj=file, mode="w") as archive:
            for _ in range(numbers.randrange(1, 5)):
                kind = numbers.choice(kinds)
                content = b"changed" if kind == tarfile.REGTYPE else b""
                info, content = member(name(), content, type=kind, linkname=name())
                archive.addfile(info, io.BytesIO(content))
        path = tmp_path / "model.tar.gz"
        path.write_bytes(stream.getvalue())
        folder = inside / str(number)
        folder.mkdir()
        try:
            found = unpack(str(path), str(folder), "x")
        except ArchiveError:
            pass
        else:
            accepted += 1
            assert {
                file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()
            } == {*found}
        assert not any(file.is_symlink() for file in folder.rglob("*"))
        assert is_unchanged(inside)
    assert accepted > 20
