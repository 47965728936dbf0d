"""Which columns of a Spark frame one record could make unreadable, from public facts alone.

Spark converts some types while it scans a file, before any expression sees a value, and one record can make that fail:
moments in milliseconds that are too far for microseconds, decimals with more digits than their type has, days of the
calendar before 1582 where a setting says so.  So the plan of a frame is followed down to its files, and their schemas
are read.  What is not known is refused: moments, days and decimals of other sources than Parquet files and memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dither.errors import InvalidArgument
from dither.sources.parquet import MILLISECONDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Java = Any  # an object of Spark's virtual machine
_IN_MEMORY = (
    "LocalRelation",
    "LogicalRDD",
    "ExternalRDD",
    "Range",
    "OneRowRelation",
    "EmptyRelation",
    "CTERelationRef",
)
"""Leaves of a plan that read no file."""
_PASSING = ("Project", "Filter", "SubqueryAlias", "View")
"""Steps that leave columns as they are, if they compute nothing from them."""
_LONGEST_COMPACT = 18
"""Decimals of at most so many digits are read as they are stored, whatever their bits."""
_MODES = {
    "datetimeRebaseMode": "spark.sql.parquet.datetimeRebaseModeInRead",
    "int96RebaseMode": "spark.sql.parquet.int96RebaseModeInRead",
}
"""Options of readers, and the settings that hold without them: how days before 1582 are read."""
_INFERRED = "spark.sql.sources.partitionColumnTypeInference.enabled"
_VERSION = "org.apache.spark.version"
_LEGACY = {"datetimeRebaseMode": ((3, 0), "legacyDateTime"), "int96RebaseMode": ((3, 1), "legacyINT96")}
"""Files that Spark wrote before these versions, or with these marks, have days of the earlier calendar."""
UNKNOWN = "is of a source whose files are not known, of which one record can make reading fail: read Parquet files"
_WIDE = "is of decimals of more than 18 digits, of which one record can make reading fail: store fewer, or doubles"
_CONVERTED = "is of another type than its files, of which one record can make the conversion fail: declare their type"
_EARLIER = "is of days that Spark converts from the calendar before 1582, which fails for some: write the files anew"
_FOLDERS = "is of the names of folders, whose type Spark takes from all of them: store it in the files"
_FAILFAST = "is read with mode FAILFAST, which one record can make fail: read with mode PERMISSIVE"


def read_settings(frame: DataFrame) -> dict[str, str]:
    """The settings of a session that decide how its files are read."""
    names = (*_MODES.values(), _INFERRED)
    return {name: str(frame.sparkSession.conf.get(name)) for name in names}


def unreadable_columns(frame: DataFrame) -> dict[str, str]:
    """The columns of a frame that no question may read, and why; refuses frames that read such columns themselves."""
    plan = getattr(getattr(frame, "_jdf", None), "queryExecution", None)
    if plan is None:
        raise InvalidArgument(
            "source", type(frame), "must be a frame of a session in this process: its files are not known"
        )
    analyzed = plan().analyzed()
    scans = _Scans(frame)
    found = scans.visible(analyzed)
    if scans.anything and "InMemoryRelation" in str(plan().withCachedData().toString()):
        _refuse(next(iter(scans.anything.values())), "a frame below it is cached with it")
    return {str(item.name()): found[_id(item)] for item in _items(analyzed.output()) if _id(item) in found}


def _refuse(problem: str, where: str) -> None:
    raise InvalidArgument("source", "spark", f"a column below this frame {problem} ({where}; drop it first)")


class _Scans:
    """Follows plans down to files; each distinct schema of a file is looked at once."""

    def __init__(self, frame: DataFrame) -> None:
        session = frame.sparkSession
        self._jvm: Java = session._jvm
        self._java: Java = session._jsparkSession
        self._settings = read_settings(frame)
        self.anything: dict[int, str] = {}
        """All columns that were found, whether or not the frame has them."""

    def visible(self, node: Java) -> dict[int, str]:
        """The columns that a plan gives and one record could make unreadable, by Spark's numbers of them."""
        for inner in _items(node.subqueries()):
            for problem in self.visible(inner).values():
                _refuse(problem, "a subquery reads it")
        children = list(_items(node.children()))
        name = str(node.getClass().getSimpleName())
        if not children:
            found = self._leaf(node, name)
            self.anything |= found
            return found
        found = {number: problem for child in children for number, problem in self.visible(child).items()}
        if not found:
            return {}
        computed = (
            [item for item in _items(node.projectList()) if item.getClass().getSimpleName() != "AttributeReference"]
            if name == "Project"
            else [node]
        )
        read = {_id(item) for expression in computed for item in _items(expression.references().toSeq())}
        for number, problem in found.items():
            if name not in _PASSING or number in read:
                _refuse(problem, "the frame computes something from it")
        given = {_id(item) for item in _items(node.output())}
        return {number: problem for number, problem in found.items() if number in given}

    def _leaf(self, node: Java, name: str) -> dict[int, str]:
        if name in _IN_MEMORY:
            return {}
        relation: Java = node.relation() if name == "LogicalRelation" else node
        of_files = relation.getClass().getSimpleName() == "HadoopFsRelation"
        columns = [(item, str(item.dataType().simpleString())) for item in _items(node.output())]
        if not of_files or not str(relation.fileFormat().getClass().getSimpleName()).endswith("ParquetFileFormat"):
            fails = of_files and _option(relation, "mode").upper() == "FAILFAST"
            fragile = ("date", "timestamp", "decimal", "interval", "time")
            return {
                _id(item): _FAILFAST if fails else UNKNOWN
                for item, stored_type in columns
                if fails or stored_type.startswith(fragile)
            }
        folders = {str(field.name()) for field in relation.partitionSchema().fields()}
        declared = relation.location().getClass().getSimpleName() == "CatalogFileIndex"  # (a table's own columns)
        infers = not declared and self._settings[_INFERRED] != "false"
        result = {_id(item): _FOLDERS for item, _ in columns if infers and item.name() in folders}
        asked = {
            str(item.name()).lower(): (_id(item), stored_type)
            for item, stored_type in columns
            if item.name() not in folders and _is_converted(stored_type)
        }
        for schema in self._schemas(relation) if asked else ():
            for field, problem in schema.items():
                if field in asked:
                    number, stored_type = asked[field]
                    if (why := problem(stored_type)) is not None:
                        result[number] = why
        return result

    def _schemas(self, relation: Java) -> Iterator[Mapping[str, _StoredField]]:
        """The fields of the files, of each distinct schema once."""
        modes = {mode: (_option(relation, mode) or self._settings[setting]).upper() for mode, setting in _MODES.items()}
        configuration = self._java.sessionState().newHadoopConf()
        seen = set()
        for file in relation.location().inputFiles():
            path = self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(file))
            source = self._jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, configuration)
            reader = self._jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source)
            try:
                about = reader.getFooter().getFileMetaData()
                schema, more, writer = about.getSchema(), about.getKeyValueMetaData(), str(about.getCreatedBy())
            finally:
                reader.close()
            version = more.get(_VERSION)
            by_file = {mode: _mode_of_file(more, mode, version) or usual for mode, usual in modes.items()}
            of_spark = version is not None and writer.startswith("parquet-mr")
            known = (str(schema.toString()), of_spark, *by_file.values())
            if known not in seen:
                seen.add(known)
                fields = (schema.getType(place) for place in range(schema.getFieldCount()))
                yield {str(field.getName()).lower(): _StoredField(field, by_file, of_spark) for field in fields}


class _StoredField:
    """One column of a Parquet file."""

    def __init__(self, field: Java, modes: Mapping[str, str], of_spark: bool) -> None:
        self._primitive = ""
        if field.isPrimitive():
            self._primitive = str(field.asPrimitiveType().getPrimitiveTypeName().toString())
        self._annotation = str(field.getLogicalTypeAnnotation())
        self._modes, self._of_spark = modes, of_spark

    def __call__(self, stored_type: str) -> str | None:
        """Why Spark may fail to read a record as this type; None where it can't."""
        if stored_type.startswith("decimal"):
            return self._decimal(stored_type)
        if stored_type == "date":
            return self._days("DATE") if self._annotation == "DATE" else _CONVERTED
        if self._primitive == "INT96":
            return self._days("INT96")
        if self._annotation.startswith("TIMESTAMP(MILLIS"):
            return MILLISECONDS
        return self._days("TIMESTAMP") if self._annotation.startswith("TIMESTAMP(MICROS") else _CONVERTED

    def _days(self, of: str) -> str | None:
        mode = self._modes["int96RebaseMode" if of == "INT96" else "datetimeRebaseMode"]
        return None if mode == "CORRECTED" else _EARLIER

    def _decimal(self, stored_type: str) -> str | None:
        if self._annotation == "INTEGER(64,false)":  # (whole numbers without a sign, which all have 20 digits at most)
            return None
        # Spark itself never writes more digits than a type has.
        return None if self._of_spark and self._annotation == stored_type.upper() else _WIDE


def _is_converted(stored_type: str) -> bool:
    """Whether Spark converts values of this type while it reads, or checks them."""
    if match := re.match(r"decimal\((\d+),", stored_type):
        return int(match[1]) > _LONGEST_COMPACT
    return stored_type == "date" or stored_type.startswith("timestamp")


def _mode_of_file(more: Java, mode: str, version: str | None) -> str | None:
    """How days before 1582 are read, where the file itself says who wrote it; None where it does not."""
    if version is None:
        return None
    (major, minor), mark = _LEGACY[mode]
    figures = [int(part) for part in re.findall(r"\d+", version)[:2]]
    is_early = figures < [major, minor] or more.get(f"org.apache.spark.{mark}") is not None
    return "LEGACY" if is_early else "CORRECTED"


def _option(relation: Java, name: str) -> str:
    """An option that a reader was given, in any case; nothing where it was not."""
    for pair in _items(relation.options().toSeq()):
        if str(pair._1()).lower() == name.lower():
            return str(pair._2())
    return ""


def _items(sequence: Java) -> Iterator[Java]:
    """The items of a sequence of Scala."""
    return (sequence.apply(place) for place in range(sequence.size()))


def _id(attribute: Java) -> int:
    return int(attribute.exprId().id())
