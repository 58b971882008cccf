# Everything from a fresh clone: needs Java 17+, Maven (or sbt) and Python 3.10+.
# A target that leaves files behind is not repeated while they are up to date.

VERSION := $(shell cat VERSION)
PYSPARK_VERSION := 4.2.0
SBT_VERSION := 1.12.14
PYTHON ?= python3

JAR_NAME := spark-range-join_4.2_2.13-$(VERSION).jar
JAR := core/target/scala-2.13/$(JAR_NAME)
WHEEL_JARS := python/src/rangejoin/jars
WHEEL := python/dist/spark_range_join-$(VERSION)-py3-none-any.whl

VENV := .venv
BIN := $(VENV)/bin
DEPENDENCIES := $(VENV)/.dependencies
INSTALLED := $(VENV)/.installed
NEIGHBOURS := $(VENV)/.neighbours

JVM_SOURCES := $(shell find codegen/src core/src -type f) \
	VERSION build.sbt $(wildcard project/*.sbt project/*.scala) project/build.properties
PYTHON_SOURCES := $(shell find python/src/rangejoin -name '*.py' -o -name py.typed) \
	python/hatch_build.py python/pyproject.toml python/README.md LICENSE VERSION

# An installed sbt serves; otherwise its launcher comes through Maven, once.
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
ifneq ($(shell command -v sbt),)
SBT_LAUNCHER :=
SBT := sbt
else
SBT_LAUNCHER := .tools/sbt-launch-$(SBT_VERSION).jar
SBT := $(JAVA) -Xmx2g -Xss4m -Dsbt.supershell=false -jar $(SBT_LAUNCHER)
endif

# Other releases of Spark, each in a virtual environment of its own; tests/neighbours names them.
OTHER_SPARKS := 3.5.9 4.0.5 4.1.4 4.2.1 4.3.0
OTHER_VENVS := $(OTHER_SPARKS:%=.venv-spark-%/.installed)
NEIGHBOUR_JARS := .tools/neighbours/.copied

LINT_PYTHON := .ci/summary.py python/src python/hatch_build.py bench tests/cluster tests/neighbours tests/python
RUFF := $(BIN)/ruff
MYPY := $(BIN)/mypy --config-file python/pyproject.toml

DOCS_SOURCE := target/docs-source
# The shipped jar is brought up to date by the same sbt that tests: start-up is dear.
SBT_LINT := root/javaFormatCheck scalafmtCheckAll sparkSuites/scalafmtCheckAll scalafmtSbtCheck
SUITES_AND_TEST = $(SUITES)$(if $(TEST), -- -z \"$(TEST)\")
PYTEST := $(BIN)/python -m pytest --junitxml

DEMO_ARGS ?=
BENCH_ARGS ?= -wi 1 -i 2 -f 1 -w 1s -r 1s
SUITES ?= *
TEST ?=
SHARE ?=
CASES ?= 1000
SEED ?= 1
PYTEST_ARGS ?=

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup jar wheel demo check test test-all test-scala test-python test-cluster \
	test-neighbours test-engines spark-suites durations fuzz docs publish-local lint lint-scala \
	lint-python format bench clean check-java check-python

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(DEPENDENCIES) $(SBT_LAUNCHER) | check-java ## make .venv with all that Python needs, and fetch sbt

jar: $(JAR) ## build the extension's jar

wheel: $(WHEEL) ## build the Python wheel that carries the jar

demo: $(INSTALLED) ## join real flights with real weather, against stock Spark (DEMO_ARGS=...)
	$(BIN)/rangejoin demo $(DEMO_ARGS)

check: $(SBT_LAUNCHER) $(DEPENDENCIES) | check-java ## lint, and the tests that run no query: two minutes
	$(SBT) $(SBT_LINT) core/packageBin "testOnly * -- -l rangejoin.Query"
	$(MAKE) lint-python
	$(MAKE) test-python PYTEST_ARGS='-q -m "not spark" $(PYTEST_ARGS)'

test: ## run what a change has to pass: a quarter of an hour (design/07-tests.md)
	$(MAKE) test-scala
	$(MAKE) test-cluster
	$(MAKE) test-python

test-all: ## run that and all the rest, which takes hours; each part is a target of its own
	$(MAKE) test
	$(MAKE) test-engines
	$(MAKE) spark-suites
	$(MAKE) fuzz CASES=10000
	$(MAKE) test-neighbours

test-scala: $(SBT_LAUNCHER) | check-java ## run the Scala tests (SUITES='*WindowSuite' TEST='part of a name')
	$(SBT) core/packageBin "testOnly $(SUITES_AND_TEST)"

test-engines: $(SBT_LAUNCHER) | check-java ## run every Scala case under every engine (SUITES=... SHARE=1/4)
	RANGEJOIN_EVERY_ENGINE=1 SHARE=$(SHARE) $(SBT) \
		"tests/testOnly $(SUITES) -- -n rangejoin.Query$(if $(TEST), -z \"$(TEST)\")"

spark-suites: $(DEPENDENCIES) $(SBT_LAUNCHER) | check-java ## run Spark's own suites with range joins (SUITES=... TEST=... SHARE=1/4)
	SHARE=$(SHARE) PYSPARK_PYTHON=$(abspath $(BIN)/python) $(SBT) \
		"sparkSuites/testOnly $(SUITES_AND_TEST)"

durations: $(SBT_LAUNCHER) | check-java ## write the durations of suites from the reports of the last tests
	$(SBT) tests/renewDurations sparkSuites/renewDurations

fuzz: $(SBT_LAUNCHER) | check-java ## compare random joins with stock Spark (CASES=... SEED=...)
	$(SBT) "tests/Test/runMain org.apache.spark.sql.rangejoin.differential.Fuzz \
		--cases $(CASES) --seed $(SEED)"

# What launches processes runs beside what shares a session: each of both takes about one core.
test-python: $(INSTALLED) ## run the Python tests against the installed wheel (PYTEST_ARGS=...)
ifeq ($(strip $(PYTEST_ARGS)),)
	@mkdir -p target
	@$(PYTEST)=target/test-reports/launched.xml tests/python -m launches \
		>target/launched.log 2>&1 & launched=$$!; \
	$(PYTEST)=target/test-reports/python.xml tests/python -m 'not launches'; status=$$?; \
	wait $$launched || status=$$?; cat target/launched.log; exit $$status
else
	$(PYTEST)=target/test-reports/python.xml tests/python $(PYTEST_ARGS)
endif

test-cluster: $(INSTALLED) ## run the tests on a cluster of two workers on this machine
	$(PYTEST)=target/test-reports/cluster.xml tests/cluster $(PYTEST_ARGS)

test-neighbours: $(INSTALLED) $(NEIGHBOURS) $(NEIGHBOUR_JARS) $(OTHER_VENVS) ## run the tests beside other software (downloads 2 GB)
	$(PYTEST)=target/test-reports/neighbours.xml tests/neighbours $(PYTEST_ARGS)

docs: $(DEPENDENCIES) ## build the site of the documentation, in target/docs
	rm -rf $(DOCS_SOURCE)
	mkdir -p $(DOCS_SOURCE)/bench
	cp *.md LICENSE $(DOCS_SOURCE)
	cp -r docs design $(DOCS_SOURCE)
	cp -r bench/README.md bench/results $(DOCS_SOURCE)/bench
	$(BIN)/mkdocs build --strict

publish-local: $(SBT_LAUNCHER) | check-java ## put the jar into the local Maven repository, for --packages
	$(SBT) core/publishM2

lint: lint-scala lint-python ## check format, style and types

lint-scala: $(SBT_LAUNCHER) | check-java
	$(SBT) $(SBT_LINT)

lint-python: $(DEPENDENCIES)
	$(RUFF) check --config python/pyproject.toml $(LINT_PYTHON)
	$(RUFF) format --check --config python/pyproject.toml $(LINT_PYTHON)
	$(MYPY) $(LINT_PYTHON)

format: $(SBT_LAUNCHER) $(DEPENDENCIES) ## put all sources into the format that lint asks for
	$(SBT) root/javaFormat scalafmtAll sparkSuites/scalafmtAll scalafmtSbt
	$(RUFF) check --fix --config python/pyproject.toml $(LINT_PYTHON)
	$(RUFF) format --config python/pyproject.toml $(LINT_PYTHON)

bench: $(SBT_LAUNCHER) | check-java ## run the micro-benchmarks, short (BENCH_ARGS=...)
	$(SBT) "bench/Jmh/run $(BENCH_ARGS)"

clean: ## remove what was built; keeps .venv, .tools and demo-output
	rm -rf target project/target project/project */target python/dist $(WHEEL_JARS)
	rm -rf spark-warehouse */spark-warehouse metastore_db derby.log
	rm -rf .pytest_cache .mypy_cache .ruff_cache
	rm -f $(INSTALLED)

check-java:
	@$(JAVA) -version 2>&1 | awk -F '"' '/version/ { split($$2, v, "."); found = v[1] } \
		END { if (found < 17) { print "Java 17 or newer is needed, found: " \
		(found ? found : "none") "; install a JDK or set JAVA_HOME" > "/dev/stderr"; exit 1 } }'

check-python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "Python 3.10 or newer is needed as $(PYTHON); set PYTHON=/path/to/python3" >&2; exit 1; }

.tools/sbt-launch-%.jar:
	mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
		-Dartifact=org.scala-sbt:sbt-launch:$* -DoutputDirectory=.tools
	@touch $@

$(JAR): $(JVM_SOURCES) $(SBT_LAUNCHER) | check-java
	$(SBT) core/packageBin
	@test -f $@ || { echo "sbt built no $@" >&2; exit 1; }
	@touch $@

# The project itself is installed as a link only to bring its dependencies; the wheel replaces it.
$(DEPENDENCIES): python/pyproject.toml | check-python
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check \
		-e './python[demo,test,lint,docs]' 'pyspark==$(PYSPARK_VERSION)'
	@touch $@

$(WHEEL): $(JAR) $(PYTHON_SOURCES) $(DEPENDENCIES)
	rm -rf $(WHEEL_JARS) python/dist
	mkdir -p $(WHEEL_JARS)
	cp $(JAR) $(WHEEL_JARS)/
	$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
		--wheel-dir python/dist ./python
	@touch $@

$(INSTALLED): $(WHEEL)
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall $(WHEEL)
	@touch $@

# Not through the project itself: it would replace the installed wheel by a link.
$(NEIGHBOURS): tests/neighbours/requirements.txt $(DEPENDENCIES)
	$(BIN)/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

.venv-spark-%/.installed: $(WHEEL) | check-python
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q --disable-pip-version-check 'pyspark==$*'
	$(@D)/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall $(WHEEL)
	@touch $@

$(NEIGHBOUR_JARS): tests/neighbours/pom.xml
	rm -rf $(@D)
	mvn -q -B -f $< org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
		-DincludeGroupIds=io.delta,io.unitycatalog \
		-DoutputDirectory=$(abspath $(@D))
	@touch $@
