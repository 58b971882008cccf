"""What the class files of jars have and name, read without loading a class."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# How long the entries of a constant pool are that are skipped (JVM specification, 4.4).
_LENGTHS = {3: 4, 4: 4, 5: 8, 6: 8, 8: 2, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TEXT, _CLASS, _FIELD, _METHOD, _INTERFACE_METHOD, _NAME_AND_TYPE = 1, 7, 9, 10, 11, 12


@dataclass(frozen=True)
class Member:
    """A field or a method as the JVM looks for it."""

    owner: str
    name: str
    descriptor: str


@dataclass(frozen=True)
class ClassFile:
    """A class: what it extends, what it declares, and which members of classes it names."""

    name: str
    parents: tuple[str, ...]
    declared: frozenset[tuple[str, str]]
    named: frozenset[Member]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 8

    def take(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values

    def short(self) -> int:
        return self.take("H")[0]


def parse(data: bytes) -> ClassFile:
    """Reads a class file."""
    reader = _Reader(data)
    texts: dict[int, str] = {}
    pairs: dict[int, tuple[int, int, int]] = {}
    index, size = 1, reader.short()
    while index < size:
        (tag,) = reader.take("B")
        if tag == _TEXT:
            length = reader.short()
            texts[index] = data[reader.at : reader.at + length].decode("utf-8", "replace")
            reader.at += length
        elif tag == _CLASS:
            pairs[index] = (tag, reader.short(), 0)
        elif tag in (_FIELD, _METHOD, _INTERFACE_METHOD, _NAME_AND_TYPE):
            first, second = reader.take("HH")
            pairs[index] = (tag, first, second)
        else:
            reader.at += _LENGTHS[tag]
        index += 2 if tag in (5, 6) else 1

    def class_name(at: int) -> str:
        return texts[pairs[at][1]]

    _, this, parent, interfaces = reader.take("HHHH")
    parents = [parent, *reader.take("H" * interfaces)]
    declared = set()
    for _ in range(2):  # fields, then methods
        for _ in range(reader.short()):
            _, name, descriptor, attributes = reader.take("HHHH")
            declared.add((texts[name], texts[descriptor]))
            for _ in range(attributes):
                _, length = reader.take("HI")
                reader.at += length
    named = {
        Member(class_name(owner), texts[pairs[what][1]], texts[pairs[what][2]])
        for tag, owner, what in pairs.values()
        if tag in (_FIELD, _METHOD, _INTERFACE_METHOD)
    }
    return ClassFile(
        class_name(this),
        tuple(class_name(at) for at in parents if at),
        frozenset(declared),
        frozenset(named),
    )


class ClassPath:
    """The classes of jars, each read when it is asked for."""

    def __init__(self, jars: Iterable[Path]) -> None:
        self._entries: dict[str, zipfile.ZipFile] = {}
        self._read: dict[str, ClassFile] = {}
        for jar in jars:
            opened = zipfile.ZipFile(jar)
            for entry in opened.namelist():
                if entry.endswith(".class"):
                    self._entries.setdefault(entry.removesuffix(".class"), opened)

    def find(self, name: str) -> ClassFile | None:
        """The class of a name; None where no jar has it."""
        if name not in self._read and name in self._entries:
            self._read[name] = parse(self._entries[name].read(name + ".class"))
        return self._read.get(name)

    def has(self, member: Member) -> bool:
        """Whether a class or what it extends declares a member; the JDK's classes are not read."""
        if member.owner.startswith(("java/", "javax/", "[")):
            return member.name != "<init>" and member.owner not in _WITHOUT_METHODS
        found = self.find(member.owner)
        if found is None:
            return False
        if (member.name, member.descriptor) in found.declared or member.name in _OF_EVERY_OBJECT:
            return True
        above = found.parents if member.name != "<init>" else ()
        return any(self.has(Member(p, member.name, member.descriptor)) for p in above)


# What has no members, or those of every object; nearly all classes extend one of these.
_WITHOUT_METHODS = {"java/lang/Object", "java/io/Serializable", "java/lang/Cloneable"}
_OF_EVERY_OBJECT = {"getClass", "hashCode", "equals", "toString", "clone", "notifyAll", "wait"}
