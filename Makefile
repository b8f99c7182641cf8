# retort: small programs that distil language models. `make help` lists targets.
# The user's CFLAGS, CPPFLAGS, LDFLAGS are added to the flags the code needs.
# Settings can be kept in config.mk.
-include config.mk

.DEFAULT_GOAL = all
VERSION = 0.1.0
CC     ?= cc
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g
BUILD  ?= build
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
MANDIR ?= $(PREFIX)/share/man
SAN    ?=
V      ?= 0
# Without -j make builds with all processors.
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN)
endif

PROGS = clean/clean bpe/bpe tokenize/tokenize shard/shard stream/stream \
        teacher/teacher student/student prune/prune plan/plan evalppl/evalppl \
        evaltask/evaltask generate/generate report/report convert/convert \
        $(if $(HTTPD_LIBS),serve/serve) retort/retort
NAMES = $(notdir $(PROGS))
BINS  = $(NAMES:%=$(BUILD)/bin/%)
PKGS  = libzstd liblz4 libarchive jansson libxxhash icu-uc hwloc nettle
MANS  = $(wildcard man/*.[157])

# Training over ranks is built in if Open MPI is there, also if installed later.
MPI_CFLAGS := $(shell $(PKG_CONFIG) --cflags ompi-c 2>/dev/null)
MPI_LIBS   := $(shell $(PKG_CONFIG) --libs ompi-c 2>/dev/null)

# serve is built if libmicrohttpd is there.
HTTPD_CFLAGS := $(shell $(PKG_CONFIG) --cflags libmicrohttpd 2>/dev/null)
HTTPD_LIBS   := $(shell $(PKG_CONFIG) --libs libmicrohttpd 2>/dev/null)

# generate chat edits lines if libedit is there.
EDIT_CFLAGS := $(shell $(PKG_CONFIG) --cflags libedit 2>/dev/null)
EDIT_LIBS   := $(shell $(PKG_CONFIG) --libs libedit 2>/dev/null)

# Language identification is built in if CLD2 and a C++ compiler are there.
CLD2 = $(if $(shell command -v $(firstword $(CXX))),$(firstword $(wildcard \
    /usr/include/cld2/public/compact_lang_det.h \
    /usr/local/include/cld2/public/compact_lang_det.h)))

comma := ,
ifneq ($(SAN),)
BUILD := build/$(subst $(comma),-,$(SAN))
SANFLAGS = -fsanitize=$(SAN) -fno-omit-frame-pointer
endif

# pkg-config finds the libraries once; see scripts/setup.
$(BUILD)/probe.mk: scripts/setup Makefile
	@mkdir -p $(@D)
	@CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' scripts/setup $(PKGS)
	@printf 'PKG_CFLAGS = %s\nPKG_LIBS = %s\n' \
	    "$$($(PKG_CONFIG) --cflags $(PKGS))" "$$($(PKG_CONFIG) --libs $(PKGS))" > $@
ifneq ($(filter-out clean fresh help names dist uninstall,$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/probe.mk
endif

WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
       -Wpointer-arith -Wwrite-strings -Wundef -Wvla
NEED = -std=c17 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -Ilib -I. \
       -ffp-contract=off -pthread $(WARN) $(SANFLAGS)
COMPILE = $(CC) $(NEED) $(ISA) $(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(LAST) \
          -MMD -MP
CXXCOMPILE = $(CXX) -fno-exceptions -fno-rtti -pthread -Wall -Wextra \
          $(SANFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP
LINK    = $(CC) $(SANFLAGS) -pthread -Wl,--as-needed $(LDFLAGS)
LIBS    = $(PKG_LIBS) $(MPI_LIBS) -lm

# A library to preload into other programs, whose MPI calls it logs.
PMPI   = $(if $(MPI_LIBS),$(BUILD)/lib/libretort-pmpi.so)
LIBSRC = $(filter-out lib/dist/pmpi.c,$(wildcard lib/*/*.c lib/*/*/*.c))
LIBOBJ = $(LIBSRC:%.c=$(BUILD)/%.o)
LIB    = $(BUILD)/libretort.a
REAL   = $(patsubst tests/real/%.c,$(BUILD)/tests/real-%,$(wildcard tests/real/*.c))
# All files of a program but main form an archive, which its tests link.
parts  = $(filter-out $(1)/$(1).c,$(wildcard $(1)/*.c $(1)/*/*.c))
ARCHIVES = $(foreach n,$(NAMES),$(if $(call parts,$n),$(BUILD)/$n/$n.a))
FUZZ   = $(patsubst tests/fuzz/%.c,%,$(filter-out %/replay.c \
    $(if $(HTTPD_LIBS),,%/request.c),$(wildcard tests/fuzz/*.c)))
REPLAY = $(FUZZ:%=$(BUILD)/fuzz/replay-%)
METERS = $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
UNITS  = $(filter-out $(wildcard tests/bench/*.c tests/fuzz/*.c tests/real/*.c \
    $(if $(HTTPD_LIBS),,tests/serve/*.c)),$(wildcard tests/*/*.c))
UNIT   = $(UNITS:%.c=$(BUILD)/%)

ifeq ($(V),0)
Q = @
say = @printf '  %-6s %s\n' $(1) $(2)
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: all $(NAMES) check check-awk check-long check-real \
        check-tasks fresh lint bench bench-compare soak \
        compile_commands demo demo-study fuzz profile install uninstall clean \
        dist distcheck \
        help names FORCE

## all: build every program (default)
all: $(BINS) $(PMPI)

# make clean removes the build; build/bin/clean is the program.
$(filter-out clean,$(NAMES)): %: $(BUILD)/bin/%

# A change of compiler or flags rebuilds everything.  Each make writes a file of
# its own, since two may run at once.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@new=$@.$$$$; echo '$(CC) $(NEED) $(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS)' \
	    '$(LDFLAGS) $(PKG_LIBS) $(MPI_LIBS) $(HTTPD_LIBS) $(EDIT_LIBS) $(VERSION) $(CLD2)' >$$new; \
	cmp -s $$new $@ && rm $$new || mv $$new $@

# Files of instruction sets that the compiler's machine lacks are empty.
MACHINE := $(shell $(CC) -dumpmachine)
ifneq ($(filter x86_64%,$(MACHINE)),)
%_avx2.o:   ISA = -mavx2 -mfma -mf16c
AVX512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
%_avx512.o: ISA = $(AVX512)
%_vnni.o:   ISA = $(AVX512) -mavx512vnni
%_avx512bf16.o: ISA = $(AVX512) -mavx512bf16
%_amx.o:    ISA = $(AVX512) -mavx512bf16 -mamx-tile -mamx-bf16 -mprfchw
else ifneq ($(filter aarch64%,$(MACHINE)),)
%_dotprod.o: ISA = -march=armv8.2-a+dotprod
%_bfmmla.o: ISA = -march=armv8.2-a+bf16
endif
# The kernels are written for -O3; a user's -O0 still wins for debugging.
$(BUILD)/lib/kern/%.o: LAST = $(if $(findstring -O0,$(CFLAGS)),,-O3 \
    -fno-math-errno)

$(BUILD)/lib/cli/prog.o: private NEED += -DRETORT_VERSION='"$(VERSION)"' \
    -DRETORT_BUILD='"$(CC) $(CFLAGS) $(SANFLAGS)"'

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c -o $@ $<

$(BUILD)/%.o: %.cc $(BUILD)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXXCOMPILE) -c -o $@ $<

$(LIB): $(LIBOBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/lib/dist/over_mpi.o: private NEED += $(if $(MPI_LIBS),-DHAVE_MPI $(MPI_CFLAGS))

$(BUILD)/lib/libretort-pmpi.so: lib/dist/pmpi.c lib/dist/log.c lib/base/clock.c \
    lib/dist/log.h lib/base/clock.h $(BUILD)/flags
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(NEED) $(MPI_CFLAGS) $(CPPFLAGS) $(CFLAGS) -fPIC -shared \
	    -fvisibility=hidden \
	    $(LDFLAGS) -o $@ $(filter %.c,$^) $(MPI_LIBS) -lm

# Files that are built into programs as strings, one a line.
STRINGS = sed 's/[\\"]/\\&/g; s/.*/"&\\n"/'

# Machines, models and tables of plan.
DATA = $(wildcard plan/*.json plan/machines/*.json plan/models/*.json)
$(BUILD)/plan/data.h: $(DATA) Makefile
	@mkdir -p $(@D)
	@for f in $(DATA); do printf '{ "%s",\n' "$${f#plan/}"; \
	    $(STRINGS) "$$f"; echo ', NULL },'; done > $@
$(BUILD)/plan/shipped.o: $(BUILD)/plan/data.h
$(BUILD)/plan/shipped.o: private NEED += -I$(BUILD)/plan

# Chat templates for training.
TRAINING = $(wildcard lib/gen/training/*.jinja)
$(BUILD)/lib/gen/training.h: $(TRAINING) Makefile
	@mkdir -p $(@D)
	@for f in $(TRAINING); do printf '{ "%s",\n' "$${f##*/}"; \
	    $(STRINGS) "$$f"; echo '},'; done > $@
$(BUILD)/lib/gen/chat_training.o: $(BUILD)/lib/gen/training.h
$(BUILD)/lib/gen/chat_training.o: private NEED += -I$(BUILD)/lib/gen

# Keys of config.json, as scripts/oracle/config_attrs.py lists them.
KEYS = lib/model/config/config_
ROW  = \([^ ]*\) \([^ ]*\)
$(BUILD)/lib/model/config/attrs.h: $(KEYS)attrs.txt Makefile
	@mkdir -p $(@D)
	@sed -e '/^#/d' -e 's/[\\"]/\\&/g' -e 's/$(ROW) \(.*\)/{ "\1", \2, "\3" },/' $< > $@
$(BUILD)/lib/model/config/aliases.h: $(KEYS)aliases.txt Makefile
	@mkdir -p $(@D)
	@sed -e '/^#/d' -e 's/$(ROW) $(ROW)/{ "\1", \2, "\3", \4 },/' $< > $@
$(BUILD)/lib/model/config/renamed.h: $(KEYS)renamed.json Makefile
	@mkdir -p $(@D)
	@$(STRINGS) $< > $@
$(BUILD)/lib/model/config/config_keys.o: $(BUILD)/lib/model/config/attrs.h \
    $(BUILD)/lib/model/config/aliases.h
$(BUILD)/lib/model/config/config_renamed.o: $(BUILD)/lib/model/config/renamed.h
$(BUILD)/lib/model/config/%.o: private NEED += -I$(BUILD)/lib/model/config

# The style of report's pages.
$(BUILD)/report/css.h: report/style.css Makefile
	@mkdir -p $(@D)
	@$(STRINGS) $< > $@
$(BUILD)/report/style.o: $(BUILD)/report/css.h
$(BUILD)/report/style.o: private NEED += -I$(BUILD)/report

# retort lists the programs with the sentences of their pages.
LISTED = $(filter-out retort,$(NAMES) $(if $(HTTPD_LIBS),,serve))
$(BUILD)/retort/list.h: $(LISTED:%=man/%.1) Makefile
	@mkdir -p $(@D)
	@for p in $(LISTED); do \
	    sed -n "s/^\.Nd \(.*\)/{ \"$$p\", \"\1\" },/p" man/$$p.1; done > $@
# The pages of commands, which retort help suggests.
$(BUILD)/retort/pages.h: $(MANS) Makefile
	@mkdir -p $(@D)
	@printf '"%s",\n' $(patsubst man/%.1,%,$(wildcard man/*-*.1)) > $@
$(BUILD)/retort/programs.o: $(BUILD)/retort/list.h $(BUILD)/retort/pages.h
$(BUILD)/retort/programs.o: private NEED += -I$(BUILD)/retort
$(BUILD)/retort/doctor.o: private NEED += -DHAVE_MPI=$(if $(MPI_LIBS),1,0) \
    -DHAVE_HTTPD=$(if $(HTTPD_LIBS),1,0) -DHAVE_CLD2=$(if $(CLD2),1,0) \
    -DHAVE_EDIT=$(if $(EDIT_LIBS),1,0)

$(BUILD)/clean/lang.o: private NEED += $(if $(CLD2),-DHAVE_CLD2)
ifneq ($(CLD2),)
$(BUILD)/bin/clean: $(BUILD)/clean/lang_cld2.o
$(BUILD)/bin/clean: LIBS += -lcld2
endif

$(BUILD)/generate/line_edit.o: private NEED += $(if $(EDIT_LIBS),-DHAVE_EDIT $(EDIT_CFLAGS))
$(BUILD)/tests/generate/chat_terminal.o: private NEED += $(if $(EDIT_LIBS),-DHAVE_EDIT)
$(BUILD)/bin/generate $(BUILD)/tests/generate/%: LIBS += $(EDIT_LIBS)

$(BUILD)/serve/%.o: private NEED += $(HTTPD_CFLAGS)
$(BUILD)/bin/serve $(BUILD)/tests/serve/%: LIBS += $(HTTPD_LIBS)

define prog
$(BUILD)/$(1)/$(1).a: $(patsubst %.c,$(BUILD)/%.o,$(call parts,$(1)))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
$(BUILD)/bin/$(1): $(BUILD)/$(1)/$(1).o \
    $(if $(call parts,$(1)),$(BUILD)/$(1)/$(1).a) $(LIB)
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(LINK) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(LIBS)
endef
$(foreach n,$(NAMES),$(eval $(call prog,$(n))))

# A unit program links the archive of the program whose folder it has.
$(UNIT): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(LIB)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $< $(filter-out $(LIB),$(filter %.a,$^)) $(LIB) $(LIBS)
define unit
$(filter $(BUILD)/tests/$(1)/%,$(UNIT)): $(filter $(BUILD)/$(1)/%,$(ARCHIVES))
endef
$(foreach n,$(NAMES),$(if $(filter $(BUILD)/tests/$n/%,$(UNIT)),$(eval $(call unit,$n))))
# programs that tests run
$(BUILD)/tests/serve/length $(BUILD)/tests/serve/recorded: | \
    $(BUILD)/bin/generate
$(BUILD)/tests/serve/recorded: | $(BUILD)/bin/evaltask

$(BUILD)/tests/real-%: $(BUILD)/tests/real/%.o $(LIB)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ $(LIBS)

## demo: the whole pipeline on the mini-corpus, with a report page
demo: all
	@BUILD='$(abspath $(BUILD))' scripts/demo '$(abspath $(BUILD))/demo'

## demo-study: learning rates by development documents, 3 seeds, differences
demo-study: all
	@BUILD='$(abspath $(BUILD))' scripts/study '$(abspath $(BUILD))/study'

## check: build and pass the tests (no network, no Python)
##     ARCH=aarch64: kernels and the pipeline on 64-bit Arm, emulated (as root;
##     5 minutes)
# Unit programs, TESTS=tests/base/io.c, need nothing else.  Shell tests need all
# programs, and those of tests that they, or files that they source, name.
asked  = $(TESTS:tests/%.c=$(BUILD)/tests/%)
shells = $(filter-out $(BUILD)/tests/%,$(asked))
named_in = $(shell { cat $(1); \
    cat $$(grep -oh 'tests/lib/[a-z]*\.sh' $(1)) /dev/null; } | \
    sed 's,^replay ,fuzz/replay-,' | grep -oE '(tests|bench|fuzz)/[a-z0-9_/-]+')
mentioned = $(filter $(UNIT) $(REAL) $(REPLAY) $(METERS),\
    $(addprefix $(BUILD)/,$(call named_in,$(1))))
here  = $(firstword $(subst -, ,$(MACHINE)))
ifneq ($(filter-out $(here),$(ARCH)),)
check:
	@case '$(ARCH) $(TESTS)' in \
	'aarch64 ') BUILD=$(BUILD) scripts/check-arm ;; \
	aarch64*) echo 'make check ARCH=aarch64 runs a list of its own: leave' \
	    'TESTS out' >&2; exit 2 ;; \
	*) echo 'ARCH=$(ARCH): make check tests on this machine ($(here)) and,' \
	    'emulated, with ARCH=aarch64' >&2; exit 2 ;; \
	esac
else
check: $(if $(TESTS),$(filter-out $(shells),$(asked)) \
    $(if $(shells),all $(call mentioned,$(shells))),\
    all $(UNIT) $(REAL) $(REPLAY) $(METERS))
	@BUILD=$(BUILD) scripts/check $(asked)
endif

## soak: disturbed pipelines (90 minutes; HOURS=12), a broken link, memory of ranks
soak: all
	@BUILD=$(BUILD) scripts/soak -m $(if $(HOURS),$$((60 * $(HOURS))),90) \
	    -s $(or $(SEED),1)
	@BUILD=$(BUILD) scripts/soak-link
	@BUILD=$(BUILD) TEST_SECONDS=7200 RETORT_SOAK=$(or $(SOAK),2000) \
	    scripts/check tests/student/soak.sh

# Tests that run a script or a recipe with awk in it.  make fresh runs all tests
# with mawk; tests/rules/awk.sh lets each awk parse every awk program.
empty =
space = $(empty) $(empty)
AWKSCRIPTS = $(shell grep -lw awk $(wildcard scripts/* recipes/*) 2>/dev/null)
AWKTESTS = $(filter-out tests/lib/%,$(shell grep -lE \
    '$(subst $(space),|,$(strip $(AWKSCRIPTS) lib/recipe.sh))' tests/*/*.sh))

## check-awk: tests of scripts and recipes, under the other awks, with bash as sh
check-awk: all $(BUILD)/bench/meter $(BUILD)/bench/bench
	@for a in gawk original-awk busybox; do \
	    command -v $$a >/dev/null || { echo "SKIP $$a: not installed"; continue; }; \
	    echo "$$a:"; \
	    AWK=$$a TEST_SH=bash BUILD=$(BUILD) scripts/check $(AWKTESTS) || exit 1; \
	done

## fresh: demo and check in a minimal Debian root (as root; 15 minutes)
fresh:
	@scripts/fresh '$(abspath $(BUILD))/fresh'

# An absolute path; abspath would cut it at spaces.
full = $(and $(1),$(if $(filter /%,$(firstword $(1))),,$(CURDIR)/)$(1))

## check-real: real models: MODEL=SmolLM2....gguf TOKDIR=dir MODELS=dir PUBLISHED=dir
check-real: all $(REAL)
	@test -f '$(MODEL)' || test -d '$(TOKDIR)' || test -d '$(MODELS)' || \
	    test -d '$(PUBLISHED)' || { \
	    echo 'usage: make check-real MODEL=FILE.gguf TOKDIR=DIR MODELS=DIR PUBLISHED=DIR' \
	    '(SmolLM2-135M-Instruct Q4_1, which recipes/ fetches;' \
	    'FAMILY/tokenizer.json, see tests/golden/README.md;' \
	    'files that tests/real/models.sh and published.sh name)' >&2; exit 2; }
	@BUILD=$(BUILD) TEST_SECONDS=3600 RETORT_MODEL='$(call full,$(MODEL))' \
	    RETORT_TOKDIR='$(call full,$(TOKDIR))' \
	    RETORT_MODELS='$(call full,$(MODELS))' \
	    RETORT_PUBLISHED='$(call full,$(PUBLISHED))' \
	    scripts/check tests/real/smollm2.sh tests/real/tokenizers.sh \
	    tests/real/models.sh tests/real/integers.sh tests/real/published.sh

## check-tasks: public task sets against lm-eval: TASKS=dir MODELS=dir
check-tasks: all
	@test -d '$(TASKS)' && test -d '$(MODELS)' || { \
	    echo 'usage: make check-tasks TASKS=DIR MODELS=DIR' \
	    '(files that tests/real/tasks.sh names)' >&2; exit 2; }
	@BUILD=$(BUILD) TEST_SECONDS=3600 RETORT_TASKS='$(abspath $(TASKS))' \
	    RETORT_MODELS='$(abspath $(MODELS))' \
	    scripts/check tests/real/tasks.sh

## check-long: also the long tests, under sanitizers and with clang
check-long: all $(UNIT) $(REPLAY)
	@BUILD=$(BUILD) RETORT_LONG=1 scripts/check
	@$(MAKE) check SAN=address,undefined
	@$(MAKE) check SAN=thread
	@if command -v clang >/dev/null; then \
	    $(MAKE) check CC=clang BUILD=$(BUILD)/clang; \
	else echo 'SKIP clang: not found'; fi

$(BUILD)/fuzz/replay-request $(BUILD)/fuzz/fuzz-request: $(BUILD)/serve/serve.a
$(BUILD)/fuzz/replay-shard $(BUILD)/fuzz/fuzz-shard: $(BUILD)/shard/shard.a
$(BUILD)/fuzz/replay-%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay.o \
    $(BUILD)/stream/stream.a $(LIB)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter-out $(LIB),$^) $(LIB) $(LIBS)

# Built with clang's libFuzzer, by the target fuzz only, which sets SAN.
$(BUILD)/fuzz/fuzz-%: $(BUILD)/tests/fuzz/%.o $(BUILD)/stream/stream.a $(LIB)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter-out $(LIB),$^) $(LIB) $(LIBS)

## fuzz: build the fuzz targets as build/fuzz-TARGET (clang); FUZZTIME=s runs each
fuzz: SANFUZZ = fuzzer-no-link,address,undefined
fuzz:
	@command -v clang >/dev/null || { echo 'SKIP fuzz: clang not found'; exit 0; }; \
	$(MAKE) CC=clang SAN=$(SANFUZZ) \
	    $(FUZZ:%=build/$(subst $(comma),-,$(SANFUZZ))/fuzz/fuzz-%) && \
	for f in $(FUZZ); do \
	    ln -sf $(subst $(comma),-,$(SANFUZZ))/fuzz/fuzz-$$f build/fuzz-$$f && \
	    mkdir -p build/fuzz/found-$$f && \
	    { [ -z '$(FUZZTIME)' ] || RETORT_TOP=. UBSAN_OPTIONS=halt_on_error=1 \
	        build/fuzz-$$f -max_total_time=$(FUZZTIME) -timeout=20 -rss_limit_mb=1500 \
	        -artifact_prefix=build/fuzz/$$f- build/fuzz/found-$$f \
	        tests/fuzz/corpus-$$f; } || exit 1; \
	done

$(BUILD)/bench/obs: $(BUILD)/prune/prune.a
$(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(LIB)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $< $(filter %/prune.a,$^) $(LIB) $(LIBS)

## bench: measure speed and memory, as TSV; BENCH=regex chooses rows
bench: all $(METERS)
	@BUILD=$(BUILD) scripts/bench '$(BENCH)'

## bench-compare: rows of bench beside those of BASE=commit, in turn on this machine
bench-compare:
	@BUILD=$(BUILD) scripts/bench-compare '$(BASE)' $(if $(BENCH),'$(BENCH)')

## profile: where a distillation step's time goes, and what the limits are
profile: all $(METERS)
	@BUILD=$(BUILD) scripts/profile

## compile_commands: build/compile_commands.json, which clangd reads
# Each line of make's plan that compiles one file is one entry.
compile_commands: $(BUILD)/probe.mk
	@MAKEFLAGS='$(MAKEOVERRIDES)' $(MAKE) -Bn V=1 all $(UNIT) | awk -v dir='$(CURDIR)' '\
	    / -MMD -MP -c -o / { file = $$NF; gsub(/[\\"]/, "\\\\&"); \
	        printf "%s{ \"directory\": \"%s\", \"file\": \"%s\",\n  " \
	            "\"command\": \"%s\" }", n++ ? ",\n" : "[\n", dir, file, $$0 } \
	    END { print n ? "\n]" : "[]" }' >$(BUILD)/compile_commands.json

## lint: layers, headers alone, man pages, scripts, manner
lint: $(BUILD)/probe.mk
	@COMPILE='$(COMPILE)' scripts/lint

# With a PROGPREFIX man pages, and scripts that start programs, have the prefix
# too: in file names and text, and where an example or script calls a program.
# retort is also the name of retort(7), which keeps its name; with the prefix
# retort- the program retort has no prefix.
named = $(patsubst retort-retort%,retort%,$(1:%=$(PROGPREFIX)%))
PAGES = $(foreach n,$(filter-out retort,$(NAMES)),\
    -e 's/^\.(Nm|Xr) $(n)\b/.\1 $(PROGPREFIX)$(n)/') \
    -e 's/^\.Xr retort 1\b/.Xr $(call named,retort) 1/' \
    $(if $(filter %/retort.1,$(1)),-e 's/^\.Nm retort$$/.Nm $(call named,retort)/')
bar  := |
either = $(subst $() ,$(bar),$(NAMES))
# "retort shard directory" is the name of a format.
quoted = $(subst $() ,$(bar),$(filter-out retort,$(NAMES)))
CALLS = s/(^ *|^\#   +|[|;&(] *|exec |"[$$]@" |-n [0-9]+ )($(either))( |$$)/\1$(PROGPREFIX)\2\3/g;s/retort-retort /retort /
PLACES = s,(^| )(scripts|recipes|docs)/,\1$(SHAREDIR)/\2/,g
EXAMPLES = -e '/^\.Bd -literal/,/^\.Ed/{$(CALLS);$(PLACES)}' \
    -e '/^\.Pa docs/{$(PLACES)}' \
    -e '/^\.Ql/s/(Ql |[|] )($(quoted)) ([-a-z])/\1$(PROGPREFIX)\2 \3/g'
mandest = $(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(1)))/$(strip \
    $(if $(filter %.1,$(1)),$(call named,$(notdir $(1))),$(notdir $(1))))
# Files of the tree that users need are installed in SHAREDIR under the same
# paths; SHAREDIR/build/bin has the programs without prefix, for recipes and
# scripts.
SHARED = $(wildcard recipes/*.mk recipes/*.json recipes/*.sh recipes/*.tsv \
    recipes/tasks/* \
    docs/*.md docs/*.svg corpus/* corpus/held-out/*) $(addprefix scripts/,abilities agree bits-a-byte \
    complete curve distil-plan doc-text first-words get-model help-text \
    humaneval ifeval judge-python make-cloze mbpp model-text nearest results \
    samples supervise task text-rows udhr-text)
SHAREDIR ?= $(PREFIX)/share/retort
shared  := $(foreach f,$(SHARED),$(if $(wildcard $(f)/*),,$(f)))
share   = $(DESTDIR)$(SHAREDIR)
# bash and fish look completions up by the name of the program.
COMPDIR ?= $(PREFIX)/share
NAMED  = $(call named,$(NAMES))
bashed = $(NAMED:%=$(DESTDIR)$(COMPDIR)/bash-completion/completions/%)
fished = $(NAMED:%=$(DESTDIR)$(COMPDIR)/fish/vendor_completions.d/%.fish)
zshed  = $(DESTDIR)$(COMPDIR)/zsh/site-functions/_$(call named,retort)
complete = sed -e 's,@COMPLETE@,$(SHAREDIR)/scripts/complete,' \
    -e 's/@NAMES@/$(NAMED)/' contrib/completion/$(1)
INSTALLED = $(bashed) $(fished) $(zshed) $(NAMED:%=$(DESTDIR)$(BINDIR)/%) \
            $(foreach m,$(MANS),$(call mandest,$(m))) \
            $(shared:%=$(share)/%) $(NAMES:%=$(share)/build/bin/%) \
            $(DESTDIR)$(LIBDIR)/libretort-pmpi.so

## install: programs, pages, completions, docs, recipes, scripts, the log of MPI
##     (DESTDIR, PREFIX, BINDIR, LIBDIR, MANDIR, SHAREDIR, COMPDIR, PROGPREFIX)
install: all
	@umask 022; mkdir -p $(sort $(dir $(INSTALLED)))
	@$(foreach n,$(NAMES),install -m 755 $(BUILD)/bin/$(n) \
	    $(DESTDIR)$(BINDIR)/$(call named,$(n)) && \
	    ln -sf $(BINDIR)/$(call named,$(n)) $(share)/build/bin/$(n) &&) true
	@$(foreach m,$(MANS),sed -E $(call PAGES,$(m)) $(EXAMPLES) $(m) > $(call mandest,$(m)) && \
	    chmod 644 $(call mandest,$(m)) &&) true
	@for f in $(shared); do case $$f in *.sh | scripts/*) \
	    sed -E -e '$(CALLS)' $$f >"$(share)/$$f" && \
	        chmod 755 "$(share)/$$f" ;; \
	    recipes/tasks/*-reward | recipes/tasks/make-tasks) \
	    install -m 755 $$f "$(share)/$$f" ;; \
	    *) install -m 644 $$f "$(share)/$$f" ;; esac || exit 1; done
	@$(foreach l,$(PMPI),install -m 644 $(l) "$(DESTDIR)$(LIBDIR)" &&) true
	@umask 022; for f in $(bashed); do $(call complete,bash) >$$f || exit 1; done
	@umask 022; for f in $(fished); do $(call complete,fish) >$$f || exit 1; done
	@umask 022; $(call complete,zsh) >$(zshed)
	@[ -n "$(DESTDIR)" ] || { \
	    echo 'The programs are in $(BINDIR)'$(if $(PROGPREFIX),': clean is $(call named,clean)'); \
	    case ":$$PATH:" in *:$(BINDIR):*) ;; \
	    *) echo 'That folder is not in PATH; type: export PATH="$(BINDIR):$$PATH"' ;; esac; \
	    echo 'Type "$(call named,retort) help" first'; }

# Empty folders of SHAREDIR, and inside DESTDIR, are removed too.
## uninstall: remove what install put there, under the same settings
uninstall:
	@rm -f $(INSTALLED)
	@for d in $(sort $(dir $(shared))) build/bin; do \
	    [ ! -d "$(share)" ] || (cd "$(share)" && rmdir -p "$$d" 2>/dev/null); \
	    done; rmdir "$(share)" 2>/dev/null || true
	@if [ -n "$(DESTDIR)" ] && cd "$(DESTDIR)"; then \
	    for d in $(BINDIR) $(LIBDIR) $(SHAREDIR) $(MANDIR)/man1 \
	        $(MANDIR)/man5 $(MANDIR)/man7 \
	        $(COMPDIR)/bash-completion/completions $(COMPDIR)/zsh/site-functions \
	        $(COMPDIR)/fish/vendor_completions.d; do \
	        mkdir -p ".$$d" && rmdir -p ".$$d" 2>/dev/null; done; true; fi

# The settings of git and gzip that would change bytes are fixed; times are the
# commit's.
## dist: build/retort-VERSION.tar.gz of the committed tree, always the same bytes
dist:
	@mkdir -p $(BUILD)
	@git -c tar.umask=0022 -c core.autocrlf=false -c core.eol=lf archive \
	    --format=tar --prefix=retort-$(VERSION)/ -o $(BUILD)/dist.tar HEAD
	@gzip -9 -n <$(BUILD)/dist.tar >$(BUILD)/retort-$(VERSION).tar.gz
	@rm $(BUILD)/dist.tar

## distcheck: build, check and install that archive
distcheck: dist
	@rm -rf $(BUILD)/distcheck && mkdir -p $(BUILD)/distcheck
	@tar xzf $(BUILD)/retort-$(VERSION).tar.gz -C $(BUILD)/distcheck
	@cd $(BUILD)/distcheck/retort-$(VERSION) && $(MAKE) check && \
	    $(MAKE) install DESTDIR="$$PWD/build/stage" && \
	    $(MAKE) uninstall DESTDIR="$$PWD/build/stage" && \
	    test -z "$$(find build/stage -mindepth 1)"

## clean: remove build/
clean:
	rm -rf build

# The names of all programs, for tests that hold for each.
names:
	@echo $(NAMES)

## help: list the targets
help:
	@sed -n 's/^## //p' Makefile
	@echo 'settings: CC CFLAGS BUILD V=1 SAN=address,undefined TESTS=file ...'

-include $(wildcard $(BUILD)/lib/*/*.d $(BUILD)/lib/*/*/*.d $(BUILD)/*/*.d $(BUILD)/shard/foreign/*.d \
    $(BUILD)/tests/*/*.d)
