# ptxopt: `make` builds build/ptxopt, `make check` tests it, `make demo` shows it, `make help` lists the rest.
# Variables: CC, CFLAGS, WERROR=1, V=1 (shows the commands), BUILD (the output folder), PREFIX, DESTDIR, JOBS,
# N (cases of fuzz-exec), FUZZ_SECONDS (of fuzz).

BUILD    = build
CC       = cc
CFLAGS   = -O2 -g -fno-pie
LDFLAGS  = -no-pie
WARNINGS = -Wall -Wextra $(if $(WERROR),-Werror)
RE2C     = re2c
BISON    = bison
PREFIX   = /usr/local
JOBS     = 2
GEN      = $(BUILD)/gen
COMPILE  = $(CC) -std=gnu11 $(WARNINGS) $(CPPFLAGS) -Isrc -I$(GEN) $(CFLAGS)
LINK     = $(CC) $(CFLAGS) $(LDFLAGS)
Q        = $(if $(V),,@)
say      = $(if $(V),@:,@echo '  $(1)' $@)

LIB      = $(BUILD)/libptxopt.a
PTXOPT   = $(BUILD)/ptxopt
OBJECTS  = $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard src/*/*.c)) $(BUILD)/obj/gen/parser.o $(BUILD)/obj/gen/lexer.o
UNIT     = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
TOOLS    = $(patsubst tests/tools/%.c,$(BUILD)/%,$(wildcard tests/tools/*.c))
PTXRUN   = $(if $(wildcard tests/exec/*.c),$(BUILD)/ptxrun)
BENCH    = $(patsubst tests/bench/%.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
FUZZ     = $(BUILD)/ptxgen $(BUILD)/ptxreduce $(BUILD)/fuzz-exec
GENERATE = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/gen/*.c))
EXECUTE  = $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/exec/main.c,$(wildcard tests/exec/*.c)))
JUDGE    = $(BUILD)/tests/fuzz/fuzz_exec.o $(BUILD)/tests/fuzz/judge.o $(GENERATE) $(EXECUTE)
# The faulty binaries are compiled anew where the table of phases counts.
FAULTY   = $(patsubst src/%.c,$(BUILD)/faulty/%.o,$(wildcard src/pipeline/*.c)) \
           $(patsubst %.c,$(BUILD)/faulty/%.o,$(wildcard tests/fuzz/faults/*.c))
N        = 1000
FUZZ_SECONDS = 60
NVCC    := $(shell . tests/lib.sh && cuda_tool nvcc)
LARGE    = $(if $(NVCC),$(patsubst examples/large/%.cu,$(BUILD)/large/%.ptx,$(wildcard examples/large/*.cu)))

# What `make check` runs, in this order; each is also a target of its own: `make check-data`. Those of SCRIPTS are
# tests/NAME.sh and need the program.
SCRIPTS  = isa cli man robust linear roundtrip exec barriers
SUITES   = layers unit data $(SCRIPTS) cubinstat loops switches tails threading nested bases ptxas gpu fuzz-exec faults fuzz debug asan

all: $(PTXOPT) $(LIB)
	@:

#: make tools            build/cubinstat reads machine code, build/ptxrun runs kernels without a GPU
tools: $(TOOLS) $(PTXRUN) $(BUILD)/gpu_check
	@:

help:
	@sed -n 's/^#: *//p' Makefile

# Static where that can be had (not with sanitizers), and at a fixed address: nothing is loaded or relocated at the start,
# which takes a third off a small file's time and a megabyte off what is held.
$(PTXOPT): $(BUILD)/obj/main.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -static -o $@ $(filter %.o %.a,$^) 2>/dev/null || $(LINK) -o $@ $(filter %.o %.a,$^)

$(LIB): $(OBJECTS)
	$(call say,AR   )
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The command line of the last build: another compiler or other flags compile everything again.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' > $@

define compile
	$(call say,CC   )
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(FLOAT) -MMD -MP -c -o $@ $<
endef

$(BUILD)/obj/%.o: src/%.c $(BUILD)/flags | $(GEN)/parser.c
	$(compile)

$(BUILD)/obj/gen/%.o: $(GEN)/%.c $(BUILD)/flags | $(GEN)/parser.c
	$(compile)

$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags
	$(compile)

# The interpreter's arithmetic sets rounding modes, and rounds every operation.
$(BUILD)/tests/exec/%.o: FLOAT = -frounding-math -ffp-contract=off

$(GEN)/parser.c: grammar/ptx.y
	$(call say,BISON)
	@mkdir -p $(@D)
	$(Q)$(BISON) -Wall -Werror --defines=$(GEN)/parser.h -o $@ $<

$(GEN)/parser.h: $(GEN)/parser.c ;

$(GEN)/lexer.c: grammar/ptx.re
	$(call say,RE2C )
	@mkdir -p $(@D)
	$(Q)$(RE2C) -W -Werror --no-generation-date -o $@ $<

$(UNIT): $(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lcmocka -lm

$(BUILD)/tests/test_alu: $(patsubst %,$(BUILD)/tests/exec/%.o,alu_int alu_float alu_convert format opcode)

$(TOOLS): $(BUILD)/%: $(BUILD)/tests/tools/%.o $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/tools/sass/*.c))
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lelf

$(BUILD)/codereport: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/tools/report/*.c))

$(BUILD)/ptxrun: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/exec/*.c)) $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(BENCH): $(BUILD)/%: $(BUILD)/tests/bench/%.o
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $^

$(BUILD)/ptxgen: $(BUILD)/tests/fuzz/ptxgen.o $(GENERATE) $(LIB)
$(BUILD)/ptxreduce: $(BUILD)/tests/fuzz/ptxreduce.o $(LIB)
$(BUILD)/fuzz-exec: $(JUDGE) $(BUILD)/tests/fuzz/optimize.o $(LIB)
$(FUZZ):
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(BUILD)/ptxopt-faulty: $(BUILD)/faulty/main.o $(FAULTY) $(LIB)
$(BUILD)/fuzz-exec-faulty: $(JUDGE) $(BUILD)/faulty/tests/fuzz/optimize.o $(FAULTY) $(LIB)
$(BUILD)/ptxopt-faulty $(BUILD)/fuzz-exec-faulty:
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(BUILD)/faulty/%.o: COMPILE := $(subst -Isrc,-Itests/fuzz/faults/table -Isrc,$(COMPILE))
$(BUILD)/faulty/%.o: src/%.c $(BUILD)/flags | $(GEN)/parser.c
	$(compile)
$(BUILD)/faulty/tests/%.o: tests/%.c $(BUILD)/flags | $(GEN)/parser.c
	$(compile)

$(BUILD)/gpu_check: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/gpu/*.c)) $(patsubst %,$(BUILD)/tests/exec/%.o,launch format opcode) $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm -ldl

$(BUILD)/large/%.ptx: examples/large/%.cu
	$(call say,NVCC )
	@mkdir -p $(@D)
	$(Q)$(NVCC) -O3 -std=c++17 -ptx -arch=compute_75 -o $@ $<

-include $(shell find $(BUILD)/obj $(BUILD)/tests $(BUILD)/faulty -name '*.d' 2>/dev/null)
.SECONDARY:

#: make debug            unoptimized build in build/debug; the checker runs after every phase
debug:
	@$(MAKE) BUILD=$(BUILD)/debug CFLAGS='-O0 -g' CPPFLAGS='$(CPPFLAGS) -DPTXOPT_DEBUG' all

#: make setup            installs what the build and the tests need, if it is missing (apt)
setup:
	@sh tests/setup.sh

#: make check            set-up, build and every test suite
check: setup
	@$(MAKE) all tools
	@MAKE='$(MAKE)' sh tests/check.sh $(BUILD)/check $(SUITES)

#: make check-SUITE      one of: layers unit data isa cli man robust linear roundtrip exec barriers cubinstat loops switches tails threading nested bases ptxas gpu debug asan
check-layers:
	@sh tests/layers.sh

check-unit: $(UNIT)
	@sh tests/unit.sh $(UNIT)

check-data: all
	@sh tests/run.sh

check-roundtrip: $(LARGE)
check-linear: $(BENCH)
$(SCRIPTS:%=check-%): check-%: all tools
	@sh tests/$*.sh

check-cubinstat: tools
	@CUBINSTAT=$(BUILD)/cubinstat sh tests/tools/cubinstat_check.sh

check-loops: all tools
	@sh tests/ptxas/loops.sh

check-threading: all tools
	@sh tests/ptxas/probes.sh threading jump-threading,dfa-jump-threading

check-switches: all tools
	@sh tests/ptxas/probes.sh switches switch-lowering

check-tails: all tools
	@NEVER_MORE=1 sh tests/ptxas/probes.sh tails branch-folding,tail-merge

check-nested: all tools
	@sh tests/ptxas/probes.sh nested nested-cond

check-bases: all tools
	@COUNTED='instr regs' sh tests/ptxas/probes.sh bases common-base-elim

#: make gpu-check        the examples on a GPU, before and after: outputs, and times in build/report/gpu.md
gpu-check check-gpu: all tools
	@sh tests/gpu.sh

check-ptxas: all tools $(LARGE)
	@sh tests/report.sh --check

check-debug: debug
	@NAME=debug BUILD=$(BUILD)/debug sh tests/run.sh

check-asan:
	@NAME=asan $(MAKE) BUILD=$(BUILD)/asan CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' \
	    CPPFLAGS='$(CPPFLAGS) -DPTXOPT_DEBUG' check-unit check-data check-cli check-robust

#: make fuzz-exec N=1000 random kernels, run before and after in every way to optimize; failures are bisected and reduced
fuzz-exec check-fuzz-exec: $(FUZZ)
	@. tests/lib.sh && $(BUILD)/fuzz-exec --folder=$(BUILD)/fuzz -n $(N) -j $(JOBS)

#: make check-faults      deliberately wrong rewrites, which only a test binary holds: every one must be caught
check-faults: $(FUZZ) $(PTXOPT) $(BUILD)/fuzz-exec-faulty $(BUILD)/ptxopt-faulty
	@sh tests/fuzz/faults.sh

#: make fuzz FUZZ_SECONDS=60  mutated texts (libFuzzer), at random: no crash, and what is printed parses and prints the same
fuzz: $(BUILD)/ptxgen
	@MAKE='$(MAKE)' sh tests/fuzz/fuzz.sh $(FUZZ_SECONDS)

#: make check-fuzz       the same with fixed seeds for a fixed number of texts: the same texts each time
check-fuzz: $(BUILD)/ptxgen
	@MAKE='$(MAKE)' sh tests/fuzz/fuzz.sh

$(BUILD)/fuzz-text: $(BUILD)/tests/fuzz/fuzz_text.o $(BUILD)/tests/fuzz/optimize.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o %.a,$^)

#: make report           build/report/report.md and .svg: the machine code of the examples, before and after
report: all tools $(LARGE)
	@sh tests/report.sh

#: make bench            time, memory and how they grow, each beside its target; beside ptxas where it is at hand
bench: all $(BENCH)
	@sh tests/bench/bench.sh

#: make bless            rewrites the expectations of tests/run.sh; review the diff
bless: all
	@sh tests/run.sh --bless

#: make demo             set-up, build, and the examples before and after
demo: setup
	@$(MAKE) all tools
	@sh examples/demo.sh

# Checks about taste, about functions that C11 has no replacement for here, and about what vectors of pointers do.
NOT_LINT = -bugprone-easily-swappable-parameters,-bugprone-sizeof-expression,-bugprone-reserved-identifier,$(strip \
           )-bugprone-macro-parentheses,-clang-analyzer-security.insecureAPI*,-clang-analyzer-valist*
#: make lint             clang-tidy and cppcheck, where at hand; what they find is for reading
lint: $(GEN)/parser.c
	@if command -v cppcheck >/dev/null; then \
	    cppcheck -q --std=c11 --enable=warning,portability --inline-suppr -Isrc -I$(GEN) src; \
	else echo 'lint: cppcheck is not at hand'; fi
	@if command -v clang-tidy >/dev/null; then \
	    clang-tidy --quiet --checks='-*,bugprone-*,clang-analyzer-*,$(NOT_LINT)' \
	        $(wildcard src/*.c src/*/*.c) -- -std=gnu11 -Isrc -I$(GEN) 2>/dev/null; \
	else echo 'lint: clang-tidy is not at hand'; fi

#: make install          to $(DESTDIR)$(PREFIX)
install: all
	install -D -m 755 $(BUILD)/ptxopt $(DESTDIR)$(PREFIX)/bin/ptxopt
	install -D -m 644 man/ptxopt.1 $(DESTDIR)$(PREFIX)/share/man/man1/ptxopt.1

#: make clean
clean:
	rm -rf $(BUILD)

export BUILD JOBS
MAKEFLAGS += --no-print-directory
FORCE:
.PHONY: all tools help bench fuzz fuzz-exec debug setup check $(SUITES:%=check-%) bless report gpu-check demo lint install clean FORCE
.DELETE_ON_ERROR:
