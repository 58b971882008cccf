# Everything from a fresh clone: needs Java 17+, Maven (or sbt) and Python 3.10+.
# A target that leaves files behind is not repeated while they are up to date.

VERSION := $(shell cat VERSION)
SBT_VERSION := 1.12.14
PYTHON ?= python3

# The line of Spark that a target is about; spark-lines.txt has them. SCALA chooses where it has two.
DEFAULT_LINE := 4.2
LINE ?= $(DEFAULT_LINE)
SCALA ?=
export LINE SCALA
LINES := $(shell awk '/^[0-9]/ && !seen[$$1]++ { print $$1 }' spark-lines.txt)
OTHER_LINES := $(filter-out $(DEFAULT_LINE),$(LINES))
PYSPARK_VERSION := $(shell awk '$$1 == "$(LINE)" { print $$6; exit }' spark-lines.txt)
ifeq ($(PYSPARK_VERSION),)
$(error spark-lines.txt has no line $(LINE), but $(LINES))
endif

# The jars that a line runs, by its name or a pattern of awk: where sbt puts them.
jars_of = $(shell awk '/^[0-9]/ && $$1 ~ /^($(1))$$/ { split($$4, v, "."); scala = v[1] "." v[2]; \
	folder = $$2 == "$(DEFAULT_LINE)" ? "" : "spark-" $$2 "_" scala "/"; \
	jar = "core/target/" folder "scala-" scala "/spark-range-join_" $$2 "_" scala "-$(VERSION).jar"; \
	if (!seen[jar]++) print jar }' spark-lines.txt)
ALL_JARS := $(call jars_of,.*)
JARS := $(call jars_of,$(LINE))
WHEEL_JARS := python/src/rangejoin/jars
WHEEL_NAME := spark_range_join-$(VERSION)-py3-none-any.whl
# A wheel of one line takes a minute or two to build; what is published has the jars of all lines.
ALL_LINES_WHEEL := python/dist/all/$(WHEEL_NAME)
LINE_WHEELS := $(LINES:%=python/dist/%/$(WHEEL_NAME))
# The line of the PySpark that is installed, unless LINE is given.
LINE_HERE = $(filter $(LINES),$(shell $(PYTHON) -c 'import pyspark; \
	print(".".join(pyspark.__version__.split(".")[:2]))' 2>/dev/null))
WHEEL_LINE = $(if $(filter file,$(origin LINE)),$(or $(LINE_HERE),$(DEFAULT_LINE)),$(LINE))

VENV := $(if $(filter $(DEFAULT_LINE),$(LINE)),.venv,.venv-spark-$(PYSPARK_VERSION))
BIN := $(VENV)/bin
DEPENDENCIES := $(VENV)/.dependencies
# Where there is no other way to a Spark than its package, sbt reads its jars from there.
UNPUBLISHED_LINES := $(shell awk '$$3 == "pyspark" { print $$1 }' spark-lines.txt)
UNPUBLISHED := $(if $(filter $(LINE),$(UNPUBLISHED_LINES)),$(DEPENDENCIES))
INSTALLED := $(VENV)/.installed
NEIGHBOURS := $(VENV)/.neighbours

JVM_SOURCES := $(shell find codegen/src core/src -type f) \
	VERSION spark-lines.txt build.sbt $(wildcard project/*.sbt project/*.scala) project/build.properties
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
NEWEST_OF_DEFAULT_LINE := 4.2.1
OTHER_SPARKS := $(shell awk '/^[0-9]/ && $$1 != "$(DEFAULT_LINE)" && !seen[$$6]++ { print $$6 }' \
	spark-lines.txt) $(NEWEST_OF_DEFAULT_LINE)
OTHER_VENVS := $(OTHER_SPARKS:%=.venv-spark-%/.installed)
NEIGHBOUR_JARS := .tools/neighbours/$(LINE)/.copied
# What is tried on the default line alone, with what it needs.
TESTS_OF_DEFAULT_LINE := connect other_sparks services tpc
# Where the tests of other releases are left out, there is no need of their environments.
ifeq ($(LINE),$(DEFAULT_LINE))
NEEDS_OF_DEFAULT_LINE := $(NEIGHBOURS) \
	$(if $(findstring --ignore=tests/neighbours/test_other_sparks.py,$(PYTEST_ARGS)),,$(OTHER_VENVS))
OTHERS_TESTS := tests/neighbours
else
NEEDS_OF_DEFAULT_LINE :=
OTHERS_TESTS := tests/neighbours $(TESTS_OF_DEFAULT_LINE:%=--ignore=tests/neighbours/test_%.py)
endif

LINT_PYTHON := .ci python/src python/hatch_build.py bench tests/cluster tests/lines tests/neighbours tests/python tests/release
RUFF := $(BIN)/ruff
MYPY := $(BIN)/mypy --config-file python/pyproject.toml

DOCS_SOURCE := target/docs-source
# The shipped jar is brought up to date by the same sbt that tests: start-up is dear.
SBT_LINT := root/javaFormatCheck scalafmtCheckAll sparkSuites/scalafmtCheckAll scalafmtSbtCheck sparkSuites/Test/compile
# What is named is run as it is; else tests that are slow are for `test-slow`. Of other lines, all are run.
QUICK = $(if $(filter-out $(DEFAULT_LINE),$(LINE))$(TEST)$(filter-out *,$(SUITES)),,quick)
AND_QUICK = $(if $(filter-out $(DEFAULT_LINE),$(LINE)),,and not slow)
SUITES_AND_TEST = $(SUITES)$(if $(TEST), -- -z \"$(TEST)\")
# Runs all of these targets, whichever fail.
run_all = failed=; for target in $(1); do $(MAKE) $$target $(2) || failed="$$failed $$target"; done; \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }
PYTEST := $(BIN)/python -m pytest --junitxml
# Reports of Python tests, each line's in a folder of its own, as sbt has them.
REPORTS := target/$(if $(filter-out $(DEFAULT_LINE),$(LINE)),spark-$(LINE)/)test-reports

# What is published, and nothing else (RELEASE.md). Without a key of one's own, one is made that proves nothing.
RELEASE := target/release
RELEASE_AGAIN := target/release-again
RELEASE_TOOLS := .venv-release/.dependencies
RELEASE_PYTHON := .venv-release/bin/python
RELEASE_WHEEL := $(RELEASE)/pypi/$(WHEEL_NAME)
RELEASE_KEY ?=
TEST_KEY := spark-range-join test key
ifeq ($(RELEASE_KEY),)
release: export GNUPGHOME := $(abspath target/release-gnupg)
endif
GPG := gpg --batch --quiet --yes
# Jars and wheels have a fixed time in them, whatever the environment says.
unexport SOURCE_DATE_EPOCH

DEMO_ARGS ?=
BENCH_ARGS ?= -wi 1 -i 2 -f 1 -w 1s -r 1s
SUITES ?= *
TEST ?=
SHARE ?=
CASES ?= 1000
SEED ?= 1
SESSIONS ?= 16
# All from .0 on; none of a line that is not published.
RELEASES ?= $(if $(UNPUBLISHED),,$(addprefix $(LINE).,$(shell seq 0 $(subst .,,$(suffix \
	$(or $(filter $(LINE).%,$(NEWEST_OF_DEFAULT_LINE)),$(PYSPARK_VERSION)))))))
NAMED ?=
PYTEST_ARGS ?=

.DELETE_ON_ERROR:
.PRECIOUS: .venv-spark-%/.dependencies
.DEFAULT_GOAL := help
.SECONDEXPANSION:
.PHONY: help setup jar jars wheel wheel-all demo check test test-all test-scala test-slow test-slow-scala test-slow-python test-python \
	test-cluster test-lines fuzz-python test-neighbours test-engines spark-suites durations fuzz links doctored releases docs publish-local lint lint-scala \
	lint-python format bench clean check-java check-python release release-check release-notes test-release publish-central

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(DEPENDENCIES) $(SBT_LAUNCHER) | check-java ## make .venv with all that Python needs, and fetch sbt

jar: $(JARS) ## build the extension's jar for a line of Spark (LINE=4.0)

jars: $(ALL_JARS) ## build the jars of all lines: two to six minutes

wheel: python/dist/$$(WHEEL_LINE)/$(WHEEL_NAME) ## build the wheel for the PySpark that is installed, or for Spark 4.2 (LINE=4.0)
	cp $< python/dist/

wheel-all: $(ALL_LINES_WHEEL) ## build the wheel with the jars of all lines of Spark: ten minutes
	cp $< python/dist/

demo: $(INSTALLED) ## join real flights with real weather, against stock Spark (DEMO_ARGS=...)
	$(BIN)/rangejoin demo $(DEMO_ARGS)

check: $(SBT_LAUNCHER) $(DEPENDENCIES) | check-java ## lint, and the tests that run no query: two minutes
	TESTS=quick $(SBT) $(SBT_LINT) core/packageBin "testOnly * -- -l rangejoin.Query"
	$(MAKE) lint-python
	$(MAKE) test-python PYTEST_ARGS='-q -m "not spark" $(PYTEST_ARGS)'

test: ## run what a change has to pass, without slow tests: fifteen minutes on two cores (design/07-tests.md)
	@$(call run_all,test-scala test-cluster test-python)

test-all: ## run that and all the rest, which takes hours; each part is a target of its own
	$(MAKE) test
	$(MAKE) test-slow
	$(MAKE) test-engines
	$(MAKE) spark-suites
	$(MAKE) fuzz CASES=10000
	$(MAKE) test-lines
	$(MAKE) test-neighbours
	$(MAKE) test-release

test-scala: $(SBT_LAUNCHER) $(UNPUBLISHED) | check-java ## run the quick Scala tests, or all that are named (SUITES='*WindowSuite' TEST='part of a name')
	SHARE=$(SHARE) TESTS=$(QUICK) $(SBT) core/packageBin "testOnly $(SUITES_AND_TEST)"

test-slow: ## run the slow tests, which `make test` leaves out
	@$(call run_all,test-slow-scala test-slow-python)

test-slow-scala: $(SBT_LAUNCHER) $(UNPUBLISHED) | check-java ## run the slow Scala tests (SUITES=... SHARE=1/14)
	SHARE=$(SHARE) TESTS=slow $(SBT) core/packageBin "tests/testOnly $(SUITES)"

test-lines: ## run all tests, and those of Spark, on every other line of Spark: hours
	@failed=; for line in $(OTHER_LINES); do \
	for target in test-scala test-cluster test-python test-neighbours fuzz fuzz-python spark-suites releases; do \
		case $$target in spark-suites|releases) \
			echo " $(UNPUBLISHED_LINES) " | grep -q " $$line " && continue;; esac; \
		$(MAKE) $$target LINE=$$line || failed="$$failed $$target/$$line"; \
	done; done; for target in test-scala releases; do \
		$(MAKE) $$target LINE=3.5 SCALA=2.12 || failed="$$failed $$target/3.5/2.12"; done; \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

test-engines: $(SBT_LAUNCHER) $(UNPUBLISHED) | check-java ## run every Scala case under every engine (SUITES=... SHARE=1/4)
	RANGEJOIN_EVERY_ENGINE=1 SHARE=$(SHARE) $(SBT) \
		"tests/testOnly $(SUITES) -- -n rangejoin.Query$(if $(TEST), -z \"$(TEST)\")"

spark-suites: $(DEPENDENCIES) $(SBT_LAUNCHER) | check-java ## run Spark's own suites with range joins (SUITES=... TEST=... SHARE=1/4 LINE=3.5)
	@test -z "$(UNPUBLISHED)" || { \
		echo "Spark $(LINE) is not published with its tests; choose a LINE of $(filter-out $(UNPUBLISHED_LINES),$(LINES))" >&2; exit 1; }
	SHARE=$(SHARE) PYSPARK_PYTHON=$(abspath $(BIN)/python) $(SBT) \
		"sparkSuites/testOnly $(SUITES_AND_TEST)"

durations: $(SBT_LAUNCHER) | check-java ## write the durations of suites from the reports of the last tests
	$(SBT) tests/renewDurations sparkSuites/renewDurations

fuzz: $(SBT_LAUNCHER) $(UNPUBLISHED) | check-java ## compare random joins with stock Spark (CASES=... SEED=... LINE=3.5)
	$(SBT) "tests/Test/runMain org.apache.spark.sql.rangejoin.differential.Fuzz \
		--cases $(CASES) --seed $(SEED)"

links: jar ## print what the jar links to in Spark and other jars (LINE=4.0)
	@cat $(dir $(firstword $(JARS)))../links.txt

doctored: $(SBT_LAUNCHER) $(UNPUBLISHED) | check-java ## run queries on Sparks that lack what the jar links to (SHARE=1/60 SESSIONS=16 SEED=... NAMED=... LINE=4.0)
	$(SBT) "tests/Test/runMain org.apache.spark.sql.rangejoin.doctored.DoctoredSparks \
		--share $(or $(SHARE),1/1) --sessions $(SESSIONS) --seed $(SEED) $(if $(NAMED),--only $(NAMED))"

releases: $(SBT_LAUNCHER) | check-java ## run the jar of a line on all its releases that are published (LINE=3.5 SCALA=2.12 RELEASES=3.5.0)
	@test -n "$(RELEASES)" || { echo "no other release of Spark $(LINE) is known" >&2; exit 1; }
	$(SBT) "tests/releasePaths $(RELEASES)" \
		"tests/Test/runMain org.apache.spark.sql.rangejoin.doctored.OtherReleases $(RELEASES)"

# From Python: the Spark that users install, which for 3.5 is of another Scala than the tests are.
fuzz-python: $(INSTALLED) ## the same from PySpark, for a line of Spark (CASES=... SEED=... LINE=3.5)
	$(BIN)/python tests/lines/random_joins.py --cases $(CASES) --seed $(SEED)

# What launches processes runs beside what shares a session: each of both takes about one core.
test-python: $(INSTALLED) ## run the Python tests against the installed wheel (PYTEST_ARGS=...)
ifeq ($(strip $(PYTEST_ARGS)),)
	@mkdir -p $(REPORTS)
	@$(PYTEST)=$(REPORTS)/launched.xml tests/python -m 'launches $(AND_QUICK)' \
		>$(REPORTS)/launched.log 2>&1 & launched=$$!; \
	$(PYTEST)=$(REPORTS)/python.xml tests/python -m 'not launches $(AND_QUICK)'; status=$$?; \
	wait $$launched || status=$$?; cat $(REPORTS)/launched.log; exit $$status
else
	$(PYTEST)=$(REPORTS)/python-chosen.xml tests/python $(PYTEST_ARGS)
endif

test-cluster: $(INSTALLED) ## run the tests on a cluster of two workers on this machine (PYTEST_ARGS=...)
	$(PYTEST)=$(REPORTS)/cluster$(if $(PYTEST_ARGS),-chosen).xml tests/cluster $(or $(PYTEST_ARGS),-m '$(if $(AND_QUICK),not slow)')

test-slow-python: $(INSTALLED) ## run the slow Python tests, and those on a cluster
	@$(call run_all,test-python test-cluster,PYTEST_ARGS='-m slow')

test-neighbours: $(INSTALLED) $(NEIGHBOUR_JARS) $(NEEDS_OF_DEFAULT_LINE) ## run the tests beside other software (LINE=4.1; downloads 2 GB)
	$(PYTEST)=$(REPORTS)/neighbours.xml $(OTHERS_TESTS) $(PYTEST_ARGS)

release: $(RELEASE)/SHA256SUMS ## build and sign all that is published, in target/release: ten minutes (RELEASE_KEY=...)
	find $(RELEASE) -name '*.asc' -delete
	test -n '$(RELEASE_KEY)' || { rm -rf $$GNUPGHOME && mkdir -m 700 $$GNUPGHOME && \
		$(GPG) --passphrase '' --quick-generate-key '$(TEST_KEY)' ed25519 sign 1d; }
	find $(RELEASE) -name '*.jar' -o -name '*.pom' -o -name '*.json' -o -name SHA256SUMS | \
		xargs -n 1 $(GPG) --local-user '$(or $(RELEASE_KEY),$(TEST_KEY))' --armor --detach-sign
	$(GPG) --armor --export '$(or $(RELEASE_KEY),$(TEST_KEY))' >$(RELEASE)/KEY.asc
	test -n '$(RELEASE_KEY)' || gpgconf --kill gpg-agent

release-check: release ## build it again in a clean clone, compare the bytes, and run test-release: half an hour
	rm -rf $(RELEASE_AGAIN)
	git clone -q . $(RELEASE_AGAIN)
	$(MAKE) -C $(RELEASE_AGAIN) $(RELEASE)/SHA256SUMS
	diff $(RELEASE)/SHA256SUMS $(RELEASE_AGAIN)/$(RELEASE)/SHA256SUMS
	rm -rf $(RELEASE_AGAIN)
	$(MAKE) test-release

test-release: release ## check the files of a release, and install them in empty environments (LINE=4.1 for one)
	RELEASE_LINE=$(if $(findstring command,$(origin LINE)),$(LINE)) $(RELEASE_PYTHON) -m pytest \
		--junitxml=$(REPORTS)/release.xml tests/release $(PYTEST_ARGS)

release-notes: ## print the notes of this version, from CHANGELOG.md
	@$(PYTHON) .ci/release_notes.py

publish-central: $(SBT_LAUNCHER) | check-java ## upload target/release/maven to Maven Central, which publishes it
	$(SBT) sonaRelease

docs: .venv/.dependencies ## build the site of the documentation, in target/docs
	rm -rf $(DOCS_SOURCE)
	mkdir -p $(DOCS_SOURCE)/bench
	cp *.md LICENSE $(DOCS_SOURCE)
	cp -r docs design $(DOCS_SOURCE)
	cp -r bench/README.md bench/results $(DOCS_SOURCE)/bench
	.venv/bin/mkdocs build --strict

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

# A jar that is compiled against a package needs the package's environment.
package_of = $(shell awk '$$1 == "$(1)" { print ".venv-spark-" $$6 "/.dependencies" }' spark-lines.txt)
define needs_package
$(call jars_of,$(1)): | $(call package_of,$(1))
endef
$(foreach line,$(UNPUBLISHED_LINES),$(eval $(call needs_package,$(line))))

# The name says for which line and which Scala it is.
$(ALL_JARS): $(JVM_SOURCES) $(SBT_LAUNCHER) | check-java
	LINE=$(word 2,$(subst _, ,$(notdir $@))) \
		SCALA=$(firstword $(subst -, ,$(word 3,$(subst _, ,$(notdir $@))))) $(SBT) core/packageBin
	@test -f $@ || { echo "sbt built no $@" >&2; exit 1; }
	@touch $@

# The project itself is installed as a link only to bring its dependencies; the wheel replaces it.
.venv/.dependencies: python/pyproject.toml | check-python
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check -e './python[demo,test,lint,docs]' \
		"pyspark==$$(awk '$$1 == "$(DEFAULT_LINE)" { print $$6 }' spark-lines.txt)"
	@touch $@

.venv-spark-%/.dependencies: python/pyproject.toml | check-python
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q --disable-pip-version-check -e './python[demo,test]' 'pyspark==$*'
	@touch $@

build_wheel = rm -rf $(WHEEL_JARS) $@ && mkdir -p $(WHEEL_JARS) && cp $(1) $(WHEEL_JARS)/ && \
	$(2) $(or $(3),.venv)/bin/python -m pip wheel -q --disable-pip-version-check --no-deps \
	--no-build-isolation --wheel-dir $(@D) ./python && touch $@

$(ALL_LINES_WHEEL): $(ALL_JARS) $(PYTHON_SOURCES) .venv/.dependencies
	$(call build_wheel,$(ALL_JARS),)

$(LINE_WHEELS): python/dist/%/$(WHEEL_NAME): $$(call jars_of,$$*) $(PYTHON_SOURCES) .venv/.dependencies
	$(call build_wheel,$(call jars_of,$*),RANGEJOIN_WHEEL_LINE=$*)

# A jar for each line that has one of its own, with all that belongs to it.
$(RELEASE)/maven: $(JVM_SOURCES) python/README.md LICENSE $(SBT_LAUNCHER) \
		| check-java $(foreach line,$(UNPUBLISHED_LINES),$(call package_of,$(line)))
	rm -rf $@
	awk '/^[0-9]/ && $$1 == $$2 { split($$4, v, "."); print $$1, v[1] "." v[2] }' spark-lines.txt | \
		while read -r line scala; do \
			LINE=$$line SCALA=$$scala $(SBT) core/publish </dev/null || { rm -rf $@; exit 1; }; \
		done
	@touch $@

# It carries the jars that are published, and their bills of materials.
$(RELEASE_WHEEL): $(RELEASE)/maven $(PYTHON_SOURCES) $(RELEASE_TOOLS)
	$(call build_wheel,$$(find $< -name '*-$(VERSION).jar' -o -name '*-cyclonedx.json'),,.venv-release)

# By its name and not by its path, which the bill of materials would have.
$(RELEASE)/SHA256SUMS: $(RELEASE_WHEEL)
	rm -rf target/release-installed
	$(RELEASE_PYTHON) -m venv --without-pip target/release-installed
	$(RELEASE_PYTHON) -m pip --python target/release-installed install -q --disable-pip-version-check \
		--no-deps --no-index --find-links $(<D) spark-range-join
	$(RELEASE_PYTHON) -m pip --python target/release-installed install -q --disable-pip-version-check \
		--constraint tests/release/requirements.txt \
		"pyspark==$$(awk '/^[0-9]/ { newest = $$6 } END { print newest }' spark-lines.txt)"
	.venv-release/bin/cyclonedx-py environment --output-reproducible \
		-o $(RELEASE)/spark_range_join-$(VERSION)-cyclonedx.json target/release-installed
	cd $(RELEASE) && find maven pypi *-cyclonedx.json -type f ! -name '*.asc' | LC_ALL=C sort | \
		xargs sha256sum >SHA256SUMS

.venv-release/.dependencies: tests/release/requirements.txt | check-python
	test -x $(RELEASE_PYTHON) || $(PYTHON) -m venv .venv-release
	$(RELEASE_PYTHON) -m pip install -q --disable-pip-version-check -r $<
	@touch $@

.venv/.installed: python/dist/$(DEFAULT_LINE)/$(WHEEL_NAME) .venv/.dependencies
	.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall $<
	@touch $@

# 4.0.5 is of the line 4.0.
.venv-spark-%/.installed: python/dist/$$(basename $$*)/$(WHEEL_NAME) .venv-spark-%/.dependencies
	$(@D)/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall $<
	@touch $@

# Not through the project itself: it would replace the installed wheel by a link.
$(NEIGHBOURS): tests/neighbours/requirements.txt $(DEPENDENCIES)
	$(BIN)/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

# Maven keeps what it has fetched: copying again downloads nothing.
.tools/neighbours/%/.copied: tests/neighbours/jars.txt
	rm -rf $(@D)
	mkdir -p $(@D)
	awk '$$1 == "$*" { print $$2, $$3 }' $< | while read -r software coordinates; do \
		mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy </dev/null \
			-Dartifact=$$coordinates -DoutputDirectory=$(abspath $(@D))/$$software || exit 1; \
	done
	@touch $@
