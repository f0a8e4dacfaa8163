# The suites, and what else measures.

# What `make check` and `make check-all` run, in this order; each is also a target of its own: `make check-data`. Those of SCRIPTS
# are tests/NAME.sh and need the program.
SCRIPTS  = isa prices bugs cli front judge guard cache signals tune reports library starve preload packages clients man robust linear roundtrip exec checked barriers prove
PROBES   = $(shell sed -n 's/^\([a-z]*\) .*/\1/p' tests/ptxas/suites)
# What must work on a user's machine, in some minutes; the rest is for whoever changes ptxopt.
CHECK    = unit data isa cli front library man robust exec reports
# Suites that may run side by side: each has a folder of its own, and none measures time but linear, which compares it with what it
# measures in turn.
BESIDE   = layers lint unit data cli front library man exec reports opcodes prices bugs judge guard cache signals tune starve preload \
           packages clients-quick linear roundtrip checked barriers prove cubinstat $(PROBES) ptxas gpu prove-random fuzz-mutate faults gates
STARVED  = $(patsubst %,$(BUILD)/starved/ptxopt%,$(subst none,,none -prove -report -ptxas -cicc -faulty))
SUITES   = layers lint unit opcodes data $(patsubst clients,clients-quick,$(SCRIPTS)) cubinstat $(PROBES) ptxas gpu faults prove-random fuzz-mutate gates mutants fuzz-exec asan

#: make check            installs what is missing, builds, and tests what must work on a user's machine: some minutes
check: setup fetch-ptxas
	@$(MAKE) all tools lib $(UNIT)
	@MAKE='$(MAKE)' BESIDE='$(BESIDE)' sh tests/check.sh $(BUILD)/check $(CHECK)

#: make check-all        the other suites that CI runs: lint, sanitizers, fuzzing, probes of ptxas, clients, planted faults
check-all:
	@CHECK_ALL=1 $(MAKE) setup
	@$(MAKE) all tools lib $(LARGE) $(BUGS) $(BENCH) $(FUZZ) $(BUILD)/opcodes $(BUILD)/mutants $(BUILD)/fuzz-exec-faulty \
	    $(BUILD)/ptxopt-faulty $(BUILD)/ptxopt-core $(STARVED)
	@$(MAKE) debug
	@MAKE='$(MAKE)' BESIDE='$(BESIDE)' sh tests/check.sh $(BUILD)/check-all $(filter-out $(CHECK),$(SUITES))

#: make check-SUITE      one of: layers lint unit data isa prices bugs cli front guard cache tune reports library preload packages clients man robust linear roundtrip exec checked barriers prove cubinstat $(PROBES) ptxas gpu prove-random debug gates asan
check-layers: all tools ptxopt-core
	@sh tests/layers.sh

check-unit: $(UNIT)
	@sh tests/unit.sh $(UNIT)

check-data: all
	@sh tests/run.sh

check-library check-preload check-packages check-clients: lib
check-roundtrip: $(LARGE)
check-guard check-cache: $(BUILD)/ptxopt-faulty
check-starve: $(STARVED)
check-linear: $(BENCH)
check-bugs: $(BUGS)
$(SCRIPTS:%=check-%): check-%: all tools
	@sh tests/$*.sh

check-cubinstat: tools
	@CUBINSTAT=$(BUILD)/cubinstat sh tests/tools/cubinstat_check.sh

#: make check-clients    ptxopt with the tools that use it, which are installed into build/clients; `make check-all` runs a part of it
check-clients-quick: all tools lib
	@CLIENTS=quick NAME=clients-quick sh tests/clients.sh

#: make check-PROBES     measures again what ptxas makes of each pattern: loops switches tails threading nested bases divisions locals
$(PROBES:%=check-%): check-%: all tools
	@sh tests/ptxas/$$(awk '$$1 == "$*" { print $$2 }' tests/ptxas/suites) $*

#: make gpu-check        the examples on a GPU, before and after: outputs, and times in build/report/gpu.md
gpu-check check-gpu: all tools
	@sh tests/gpu.sh

check-ptxas: all tools $(LARGE)
	@sh tests/report.sh --check

check-debug: debug
	@NAME=debug BUILD=$(BUILD)/debug sh tests/run.sh

#: make check-gates      every case without the gates of src/analysis: the prover must reject each output that differs (tests/gates/rows)
check-gates: all debug
	@sh tests/gates.sh

ASAN     = BUILD=$(BUILD)/asan CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' CPPFLAGS='$(CPPFLAGS) -DPTXOPT_DEBUG'
check-asan:
	@$(MAKE) $(ASAN) all tools
	@NAME=asan $(MAKE) $(ASAN) check-robust & robust=$$!; NAME=asan $(MAKE) $(ASAN) check-unit check-data check-cli; rest=$$?; wait $$robust && exit $$rest

#: make fuzz-exec N=1000 random kernels, run before and after in every way to optimize; failures are bisected and reduced
fuzz-exec check-fuzz-exec: $(FUZZ)
	@. tests/lib.sh && $(BUILD)/fuzz-exec --folder=$(BUILD)/fuzz -n $(N) -j $(JOBS)

#: make fuzz-mutate N=1000 FIRST=1  texts of the tests, and random kernels, changed at random: no crash or alarm, and runs give the same results
fuzz-mutate check-fuzz-mutate: $(FUZZ)
	@FIRST=$(FIRST) N=$(N) sh tests/fuzz/mutate.sh

#: make check-mutants N=1000 outputs with one thing changed: those that the interpreter sees as different must not be proved
check-mutants: $(BUILD)/mutants
	@N=$(N) sh tests/mutants.sh

#: make check-opcodes     compares each opcode's row in isa/ with the interpreter; planted wrong rows must be noticed
check-opcodes: $(BUILD)/opcodes
	@$(BUILD)/opcodes

#: make check-prove-random  a phase that changes one random thing in each function never gets a wrong one past --prove=revert
check-prove-random: tools $(PTXOPT) $(BUILD)/ptxgen $(BUILD)/ptxopt-faulty
	@N=$(shell expr $(N) / 5) sh tests/prove-random.sh

#: make check-faults      deliberately wrong rewrites, which only a test binary holds: every one must be caught
check-faults: $(FUZZ) $(PTXOPT) $(BUILD)/fuzz-exec-faulty $(BUILD)/ptxopt-faulty
	@sh tests/fuzz/faults.sh

#: make fuzz FUZZ_SECONDS=60  mutated texts (libFuzzer), at random: no crash, and what is printed parses and prints the same
fuzz: $(BUILD)/ptxgen
	@MAKE='$(MAKE)' sh tests/fuzz/fuzz.sh $(FUZZ_SECONDS)

#: make check-fuzz       the same with fixed seeds for a fixed number of texts: the same texts each time
check-fuzz: $(BUILD)/ptxgen
	@MAKE='$(MAKE)' sh tests/fuzz/fuzz.sh

# library installs, which compiles position-independent objects: it comes last.
COVERED  = unit opcodes data front guard tune reports starve exec prove mutants prove-random fuzz-exec faults cubinstat cli library
COUNT    = BUILD=$(BUILD)/coverage sh tests/coverage.sh
#: make coverage N=200   lines and branches of each room that the suites of COVERED run, by gcov; never run: build/coverage/unrun
coverage: $(GEN)/parser.c
	@$(COUNT) start
	@$(CC) -c -o $(BUILD)/coverage/exit.o tests/coverage/exit.c
	@for suite in $(COVERED); do $(MAKE) BUILD=$(BUILD)/coverage CC='$(CC) --coverage' CFLAGS='-O0 -g -fprofile-update=atomic' \
	    LDFLAGS='-no-pie -Wl,--wrap=_exit $(CURDIR)/$(BUILD)/coverage/exit.o' N=$(N) check-$$suite 2>&1 | grep '^fail\|^[a-z-]*: [0-9]* passed'; $(COUNT) add; done
	@$(COUNT) print

#: make report           build/report/*.html and .md: the machine code of the examples, before and after, by ptxopt-report
report: all tools $(LARGE)
	@sh tests/report.sh

#: make corpus           build/corpus/report.md: better and worse kernels of CORPUS (a folder, a tarball), for each of PTXASES
#:                       RECORD=1: also writes src/judge/guard/record.def, by which the guard judges some kernels first
corpus: all tools
	@sh tests/corpus.sh

#: make worth PHASE=x     the same for one phase: machine code with it, compared with machine code without it [WITH=--enable-x]
worth: all tools
	@PHASE='$(PHASE)' WITH='$(WITH)' sh tests/worth.sh

#: make limits           bounds of effort and size: what each bounds, the answer beyond, and how often files reach it [CORPUS=..]
limits: $(BENCH) $(BUILD)/ptxrun $(BUILD)/ptxopt-prove
	@$(MAKE) BUILD=$(BUILD)/limits CPPFLAGS=-DPTXOPT_LIMITS $(BUILD)/limits/tests/limits/count.o
	@$(MAKE) BUILD=$(BUILD)/limits CPPFLAGS=-DPTXOPT_LIMITS LDFLAGS="-no-pie -Wl,--wrap=_exit $(BUILD)/limits/tests/limits/count.o" $(BUILD)/limits/ptxopt
	@PTXBIG=$(BUILD)/ptxbig TOOLS=$(BUILD) BUILD=$(BUILD)/limits sh tests/limits.sh

#: make bench            -O2 compared with an earlier commit, BASE=.., on seven files of CORPUS: instructions of each phase, memory, share of ptxas
bench: $(PTXOPT) $(BUILD)/measure
	@MAKE='$(MAKE)' BASE='$(BASE)' sh tests/bench/relative.sh

#: make bench-targets    time, memory and how they grow, compared with their targets, and with ptxas if it is available
bench-targets: all $(BENCH)
	@sh tests/bench/bench.sh

#: make bench-guard      what the guard costs and saves on CORPUS (a folder), compared with ptxas alone
bench-guard: all tools
	@sh tests/bench/guard.sh

#: make bless            rewrites the expectations of tests/run.sh; review the diff
bless: all
	@sh tests/run.sh --bless

#: make lint             clang-tidy and cppcheck, if available: any finding is a failure
lint check-lint: $(GEN)/parser.c $(GEN)/version.h
	@sh tests/lint.sh

.PHONY: check check-all $(SUITES:%=check-%) check-debug check-fuzz fuzz fuzz-exec fuzz-mutate coverage report gpu-check corpus worth limits bench bench-targets bench-guard bless lint
