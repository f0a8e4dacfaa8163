# ptxopt: `make` builds build/ptxopt, `make check` tests it, `make demo` shows it, `make help` lists the rest.
# Variables: CC, CFLAGS, WERROR=1, V=1 (shows the commands), BUILD (the output folder), PREFIX, DESTDIR, JOBS,
# N (cases of fuzz-exec and fuzz-mutate), FIRST (of fuzz-mutate), FUZZ_SECONDS (of fuzz).

BUILD    = build
CC       = cc
CFLAGS   = -O3 -g -fno-pie
LDFLAGS  = -no-pie
WARNINGS = -Wall -Wextra -Wcast-qual -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wenum-conversion $(if $(WERROR),-Werror)
STRIP    = strip
OBJCOPY  = objcopy
RE2C     = re2c
BISON    = bison
PREFIX   = /usr/local
JOBS     = 2
GEN      = $(BUILD)/gen
# Debug data names files from the top of the source: equal sources make equal programs in any folder.
COMPILE  = $(CC) -std=gnu11 $(WARNINGS) $(CPPFLAGS) -ffile-prefix-map=$(CURDIR)=. -Isrc -I$(GEN) $(CFLAGS)
LINK     = $(CC) $(CFLAGS) $(LDFLAGS)
Q        = $(if $(V),,@)
say      = $(if $(V),@:,@echo '  $(1)' $@)

# All but the programs' own files, for them and the tests; what is installed as the library is made of position-independent
# objects, whose names but ptxopt_* nobody sees.
LIB      = $(BUILD)/obj/ptxopt.a
ABI      = $(shell sed -n 's/^#define PTXOPT_ABI //p' src/use/api/ptxopt.h)
VERSION  = $(shell sh src/version.sh | sed -n 's/^.*PTXOPT_VERSION "\(.*\)"/\1/p')
SHARED   = $(BUILD)/libptxopt.so.$(ABI)
PRELOAD  = $(BUILD)/libptxopt-preload.so
LIBRARY  = $(SHARED) $(BUILD)/libptxopt.so $(BUILD)/libptxopt.a $(PRELOAD)
PTXOPT   = $(BUILD)/ptxopt
FRONTS   = $(BUILD)/ptxopt-ptxas $(BUILD)/ptxopt-cicc
PROVE    = $(BUILD)/ptxopt-prove
REPORT   = $(BUILD)/ptxopt-report
# The optimizer alone: the first group of src/README.md.
CORE     = $(patsubst src/%.c,$(BUILD)/obj/%.o,$(foreach room,base isa ir parse target analysis transform phase phase/* pipeline,$(wildcard src/$(room)/*.c))) \
           $(BUILD)/obj/gen/parser.o $(BUILD)/obj/gen/lexer.o
OBJECTS  = $(CORE) $(patsubst src/%.c,$(BUILD)/obj/%.o,$(filter-out src/use/preload/%,$(wildcard src/check/*/*.c src/judge/*/*.c src/use/*/*.c)))
TOOL     = $(BUILD)/obj/tool/ptxopt.o $(BUILD)/obj/tool/process.o
MANUAL   = $(notdir $(wildcard man/*.[1-9]))
PIC      = $(patsubst $(BUILD)/obj/%,$(BUILD)/pic/%,$(filter-out %/optimize.o,$(CORE)) $(BUILD)/obj/use/api/api.o)
UNIT     = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
TOOLS    = $(BUILD)/cubinstat $(BUILD)/cubinjudge $(BUILD)/cubincmp
PTXRUN   = $(BUILD)/ptxrun
BUGS     = $(BUILD)/bugloops $(BUILD)/bugcode
BENCH    = $(patsubst tests/bench/%.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
FUZZ     = $(BUILD)/ptxgen $(BUILD)/ptxreduce $(BUILD)/fuzz-exec
GENERATE = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/gen/*.c))
JUDGE    = $(BUILD)/tests/fuzz/fuzz_exec.o $(BUILD)/tests/fuzz/mutate.o $(BUILD)/tests/fuzz/judge.o $(BUILD)/tests/fuzz/ask.o $(GENERATE)
# The faulty binaries are compiled anew where the table of phases counts.
FAULTY   = $(patsubst src/%.c,$(BUILD)/faulty/%.o,$(wildcard src/pipeline/*.c src/check/proof/*.c src/judge/trial/*.c src/judge/guard/*.c src/judge/tune/*.c src/use/front/front.c)) \
           $(patsubst %.c,$(BUILD)/faulty/%.o,$(wildcard tests/fuzz/faults/*.c))
N        = 1000
FIRST    = 1
FUZZ_SECONDS = 60
NVCC    := $(shell . tests/lib.sh && cuda_tool nvcc)
LARGE    = $(if $(NVCC),$(patsubst examples/large/%.cu,$(BUILD)/large/%.ptx,$(wildcard examples/large/*.cu)))

# What `make check` runs, in this order; each is also a target of its own: `make check-data`. Those of SCRIPTS are
# tests/NAME.sh and need the program.
SCRIPTS  = isa prices bugs cli front judge guard cache signals tune reports library starve preload packages clients man robust linear roundtrip exec barriers prove
PROBES   = $(shell sed -n 's/^\([a-z]*\) .*/\1/p' tests/ptxas/suites)
SUITES   = layers lint unit opcodes data $(patsubst clients,clients-quick,$(SCRIPTS)) cubinstat $(PROBES) ptxas gpu mutants prove-random fuzz-exec fuzz-mutate faults fuzz debug asan

all: $(PTXOPT) $(FRONTS) $(PROVE) $(REPORT) $(LIB)
	@:

#: make tools            build/cubinstat reads machine code, build/ptxrun runs kernels without a GPU
tools: $(TOOLS) $(PTXRUN) $(BUILD)/gpu_check $(BUILD)/judge_check
	@:

help:
	@sed -n 's/^#: *//p' Makefile | sed 's/$$(PROBES)/$(PROBES)/'

# Static where that can be had (not with sanitizers), and at a fixed address: nothing is loaded or relocated at the start,
# which takes a third off a small file's time and a megabyte off what is held.
$(PTXOPT): $(TOOL) $(LIB)
$(PROVE): $(BUILD)/obj/tool/ptxopt_prove.o $(BUILD)/obj/tool/process.o $(LIB)
$(PTXOPT) $(PROVE):
	$(call say,LINK )
	$(Q)$(LINK) -static -o $@ $(filter %.o %.a,$^) -lm 2>/dev/null || $(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(REPORT): $(BUILD)/obj/tool/ptxopt_report.o $(BUILD)/obj/tool/process.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

#: make ptxopt-core      build/ptxopt-core: the optimizer alone, without what checks, judges and integrates it
$(BUILD)/obj/core.a: $(CORE)
	$(call say,AR   )
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(BUILD)/ptxopt-core: $(BUILD)/obj/tool/ptxopt_core.o $(BUILD)/obj/tool/process.o $(BUILD)/obj/core.a
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $^

ptxopt-core: $(BUILD)/ptxopt-core
	@:

# The same program: the name decides what it is.
$(FRONTS): $(PTXOPT)
	$(Q)ln -sf ptxopt $@

$(LIB): $(OBJECTS)
	$(call say,AR   )
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

#: make lib              build/libptxopt.so and .a (the header is src/use/api/ptxopt.h), build/libptxopt-preload.so
lib: $(LIBRARY)
	@:

$(BUILD)/pic/%: COMPILE := $(subst -fno-pie,,$(COMPILE)) -fPIC -fvisibility=hidden

$(BUILD)/pic/%.o: src/%.c $(BUILD)/flags | $(GEN)/parser.c $(GEN)/version.h
	$(compile)

$(BUILD)/pic/gen/%.o: $(GEN)/%.c $(BUILD)/flags | $(GEN)/parser.c $(GEN)/version.h
	$(compile)

$(SHARED): $(PIC) src/use/api/ptxopt.map
	$(call say,LINK )
	$(Q)$(CC) $(filter-out -fno-pie,$(CFLAGS)) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/use/api/ptxopt.map -Wl,-z,defs -o $@ $(PIC)

$(PRELOAD): $(PIC) $(patsubst src/%.c,$(BUILD)/pic/%.o,src/use/front/limit.c src/use/front/log.c $(wildcard src/use/preload/*.c)) src/use/preload/preload.map
	$(call say,LINK )
	$(Q)$(CC) $(filter-out -fno-pie,$(CFLAGS)) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/use/preload/preload.map -Wl,-z,defs -o $@ $(filter %.o,$^) \
	    -Wl,--as-needed -ldl -lpthread

# Its dlsym has to end in a jump, and is called before sanitizers are ready.
$(BUILD)/pic/use/preload/real.o $(BUILD)/pic/use/preload/hooks.o: OWN = -O2 -fno-sanitize=all

$(BUILD)/libptxopt.so: $(SHARED)
	$(Q)ln -sf $(<F) $@

# One object, in which only what is visible outside keeps its name.
$(BUILD)/libptxopt.a: $(PIC)
	$(call say,AR   )
	$(Q)$(LD) -r -o $(BUILD)/pic/ptxopt.o $(PIC) && $(OBJCOPY) --localize-hidden $(BUILD)/pic/ptxopt.o
	$(Q)rm -f $@ && $(AR) rcsD $@ $(BUILD)/pic/ptxopt.o

$(BUILD)/%.pc: src/use/api/%.pc.in FORCE
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $< >$@

$(BUILD)/%.cmake: src/use/api/%.cmake.in FORCE
	$(Q)sed 's|@VERSION@|$(VERSION)|' $< >$@

# The command line of the last build: another compiler or other flags compile everything again.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' > $@

define compile
	$(call say,CC   )
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(OWN) -MMD -MP -c -o $@ $<
endef

$(BUILD)/obj/%.o: src/%.c $(BUILD)/flags | $(GEN)/parser.c $(GEN)/version.h
	$(compile)

$(BUILD)/obj/gen/%.o: $(GEN)/%.c $(BUILD)/flags | $(GEN)/parser.c $(GEN)/version.h
	$(compile)

$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags
	$(compile)

# Phases that are made for a test leave the options alone.
$(BUILD)/faulty/tests/% $(BUILD)/tests/unit/test_runner.o: OWN = -Wno-unused-parameter

# The interpreter's arithmetic sets rounding modes, and rounds every operation.
$(BUILD)/obj/check/exec/%.o: OWN = -frounding-math -ffp-contract=off

$(GEN)/parser.c: grammar/ptx.y
	$(call say,BISON)
	@mkdir -p $(@D)
	$(Q)$(BISON) -Wall -Werror --defines=$(GEN)/parser.h -o $@ $<

$(GEN)/parser.h: $(GEN)/parser.c ;

# Which commit this is: only what names it is compiled again.
$(GEN)/version.h: FORCE
	@mkdir -p $(@D)
	@sh src/version.sh >$@.new && if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(GEN)/lexer.c: grammar/ptx.re
	$(call say,RE2C )
	@mkdir -p $(@D)
	$(Q)$(RE2C) -W -Werror --no-generation-date -o $@ $<

$(UNIT): $(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lcmocka -lm

$(BUILD)/cubinstat $(BUILD)/cubinjudge $(BUILD)/cubincmp: $(BUILD)/%: $(BUILD)/obj/tool/%.o
$(TOOLS): $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIB) $(if $(filter %/cubincmp,$@),-lelf) -lm

$(BUILD)/ptxrun: $(BUILD)/obj/tool/ptxrun.o $(BUILD)/obj/tool/process.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(BUGS): $(BUILD)/%: $(BUILD)/tests/bugs/%.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(BENCH): $(BUILD)/%: $(BUILD)/tests/bench/%.o
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $^

$(BUILD)/ptxgen: $(BUILD)/tests/fuzz/ptxgen.o $(GENERATE) $(LIB)
$(BUILD)/ptxreduce: $(BUILD)/tests/fuzz/ptxreduce.o $(LIB)
$(BUILD)/fuzz-exec: $(JUDGE) $(BUILD)/tests/fuzz/optimize.o $(LIB)
$(BUILD)/mutants: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/prove/*.c)) $(filter-out %/fuzz_exec.o %/fuzz/mutate.o,$(JUDGE)) $(BUILD)/tests/fuzz/optimize.o $(LIB)
$(BUILD)/opcodes: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/opcodes/*.c)) $(LIB)
$(FUZZ) $(BUILD)/mutants $(BUILD)/opcodes:
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(BUILD)/ptxopt-faulty: $(TOOL:$(BUILD)/obj/%=$(BUILD)/faulty/%) $(FAULTY) $(LIB)
$(BUILD)/fuzz-exec-faulty: $(JUDGE) $(BUILD)/faulty/tests/fuzz/optimize.o $(FAULTY) $(LIB)
$(BUILD)/ptxopt-faulty $(BUILD)/fuzz-exec-faulty:
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(BUILD)/faulty/%.o: COMPILE := $(subst -Isrc,-Itests/fuzz/faults/table -Isrc,$(COMPILE))
$(BUILD)/faulty/%.o: src/%.c $(BUILD)/flags | $(GEN)/parser.c $(GEN)/version.h
	$(compile)
$(BUILD)/faulty/tests/%.o: tests/%.c $(BUILD)/flags | $(GEN)/parser.c $(GEN)/version.h
	$(compile)

$(BUILD)/gpu_check: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/gpu/*.c)) $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm -ldl

# The programs with an allocation of their own, which can fail: not static, so that it stands in for the C library's everywhere.
$(BUILD)/starved/ptxopt: $(TOOL)
$(BUILD)/starved/ptxopt-faulty: $(TOOL:$(BUILD)/obj/%=$(BUILD)/faulty/%) $(FAULTY)
$(BUILD)/starved/ptxopt-prove $(BUILD)/starved/ptxopt-report: $(BUILD)/starved/ptxopt-%: $(BUILD)/obj/tool/ptxopt_%.o $(BUILD)/obj/tool/process.o
$(BUILD)/starved/%: $(BUILD)/tests/starve/allocate.o $(LIB)
	$(call say,LINK )
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIB) -lm
$(BUILD)/starved/ptxopt-ptxas $(BUILD)/starved/ptxopt-cicc: $(BUILD)/starved/ptxopt
	$(Q)ln -sf ptxopt $@

$(BUILD)/judge_check: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/judge/*.c)) $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(BUILD)/large/%.ptx: examples/large/%.cu
	$(call say,NVCC )
	@mkdir -p $(@D)
	$(Q)$(NVCC) -O3 -std=c++17 -ptx -arch=compute_75 -o $@ $<

-include $(shell find $(BUILD)/obj $(BUILD)/pic $(BUILD)/tests $(BUILD)/faulty -name '*.d' 2>/dev/null)
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

#: make check-SUITE      one of: layers lint unit data isa prices bugs cli front guard cache tune reports library preload packages clients man robust linear roundtrip exec barriers prove cubinstat $(PROBES) ptxas gpu prove-random debug asan
check-layers: all tools ptxopt-core
	@sh tests/layers.sh

check-unit: $(UNIT)
	@sh tests/unit.sh $(UNIT)

check-data: all
	@sh tests/run.sh

check-library check-preload check-packages check-clients: lib
check-roundtrip: $(LARGE)
check-guard check-cache: $(BUILD)/ptxopt-faulty
check-starve: $(patsubst %,$(BUILD)/starved/ptxopt%,$(subst none,,none -prove -report -ptxas -cicc -faulty))
check-linear: $(BENCH)
check-bugs: $(BUGS)
$(SCRIPTS:%=check-%): check-%: all tools
	@sh tests/$*.sh

check-cubinstat: tools
	@CUBINSTAT=$(BUILD)/cubinstat sh tests/tools/cubinstat_check.sh

#: make check-clients    ptxopt before its real users, which are installed into build/clients; `make check` does a part of it
check-clients-quick: all tools lib
	@CLIENTS=quick NAME=clients-quick sh tests/clients.sh

#: make check-PROBES     what ptxas was measured to make of each pattern: loops switches tails threading nested bases
$(PROBES:%=check-%): check-%: all tools
	@sh tests/ptxas/$$(awk '$$1 == "$*" { print $$2 }' tests/ptxas/suites) $*

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

#: make fuzz-mutate N=1000 FIRST=1  texts of the tests, and random kernels, changed at random: no crash or alarm, and what can run does the same
fuzz-mutate check-fuzz-mutate: $(FUZZ)
	@FIRST=$(FIRST) N=$(N) sh tests/fuzz/mutate.sh

#: make check-mutants N=1000 outputs with one thing changed: those that the interpreter sees as different must not be proved
check-mutants: $(BUILD)/mutants
	@mkdir -p $(BUILD)/work/mutants
	@$(BUILD)/mutants --folder=$(BUILD)/work/mutants -m 10 -n $(shell expr $(N) / 10) -j $(JOBS)

#: make check-opcodes     what the interpreter sees each opcode do, beside what isa/ claims; wrong rows, planted, must be noticed
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

$(BUILD)/fuzz-text: $(BUILD)/tests/fuzz/fuzz_text.o $(BUILD)/tests/fuzz/optimize.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o %.a,$^)

# library and cli install, which compiles everything anew: they come last.
COVERED  = unit opcodes data front guard tune reports starve exec prove mutants prove-random fuzz-exec faults cubinstat library cli
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
corpus: all tools
	@sh tests/corpus.sh

#: make worth PHASE=x     the same of one phase: machine code with it, beside machine code without it [WITH=--enable-x]
worth: all tools
	@PHASE='$(PHASE)' WITH='$(WITH)' sh tests/worth.sh

#: make phase NAME=x      writes the skeleton of a new phase: its file, rows, two cases, a section of the manual
phase:
	@sh src/phase/skeleton.sh '$(NAME)'

#: make bench            time, memory and how they grow, each beside its target; beside ptxas where it is at hand
bench: all $(BENCH)
	@sh tests/bench/bench.sh

#: make bench-guard      what the guard costs and saves on CORPUS (a folder), beside ptxas alone
bench-guard: all tools
	@sh tests/bench/guard.sh

#: make bless            rewrites the expectations of tests/run.sh; review the diff
bless: all
	@sh tests/run.sh --bless

#: make docs             the generated parts of the manual pages and README, from the tables of options and phases
docs: all
	@sh man/update.sh

#: make demo             set-up, build, and the examples before and after
demo: setup
	@$(MAKE) all tools
	@sh examples/demo.sh

#: make lint             clang-tidy and cppcheck, where at hand: what they find is a failure
lint check-lint: $(GEN)/parser.c $(GEN)/version.h
	@sh tests/lint.sh

#: make install          to $(DESTDIR)$(PREFIX); the program is stripped
install: all lib $(BUILD)/ptxopt.pc $(BUILD)/ptxopt-config-version.cmake
	install -D -s --strip-program=$(STRIP) -m 755 $(BUILD)/ptxopt $(DESTDIR)$(PREFIX)/bin/ptxopt
	install -D -s --strip-program=$(STRIP) -m 755 $(PROVE) $(DESTDIR)$(PREFIX)/bin/ptxopt-prove
	install -D -s --strip-program=$(STRIP) -m 755 $(REPORT) $(DESTDIR)$(PREFIX)/bin/ptxopt-report
	ln -sf ptxopt $(DESTDIR)$(PREFIX)/bin/ptxopt-ptxas
	ln -sf ptxopt $(DESTDIR)$(PREFIX)/bin/ptxopt-cicc
	install -D -s --strip-program=$(STRIP) -m 755 $(SHARED) $(DESTDIR)$(PREFIX)/lib/libptxopt.so.$(ABI)
	ln -sf libptxopt.so.$(ABI) $(DESTDIR)$(PREFIX)/lib/libptxopt.so
	install -D -s --strip-program=$(STRIP) -m 755 $(PRELOAD) $(DESTDIR)$(PREFIX)/lib/libptxopt-preload.so
	install -D -m 644 $(BUILD)/libptxopt.a $(DESTDIR)$(PREFIX)/lib/libptxopt.a
	install -D -m 644 src/use/api/ptxopt.h $(DESTDIR)$(PREFIX)/include/ptxopt.h
	install -D -m 644 $(BUILD)/ptxopt.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/ptxopt.pc
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/cmake/ptxopt src/use/api/ptxopt-config.cmake $(BUILD)/ptxopt-config-version.cmake src/use/integration/cmake/Ptxopt.cmake
	install -D -m 644 src/use/integration/completions/ptxopt.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ptxopt
	install -D -m 644 src/use/integration/completions/_ptxopt $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ptxopt
	install -D -m 644 src/use/integration/completions/ptxopt.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ptxopt.fish
	for page in $(MANUAL); do install -D -m 644 man/$$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$$page; done

MACHINE  = $(shell uname -m)
DIST     = ptxopt-$(VERSION)-linux-$(MACHINE)
# The time of the last commit: what is packed has no other.
EPOCH    = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || echo 0))
INSTALL  = $(MAKE) install BUILD=$(BUILD)

#: make dist             build/ptxopt-VERSION-linux-MACHINE.tar.gz: the static program, the library, the manual
dist: all lib
	@rm -rf $(BUILD)/dist && $(INSTALL) DESTDIR=$(BUILD)/dist PREFIX=/$(DIST) >/dev/null && cp LICENSE CHANGELOG.md README.md $(BUILD)/dist/$(DIST)
	$(Q)tar -C $(BUILD)/dist --sort=name --mtime=@$(EPOCH) --owner=0 --group=0 --numeric-owner -cf - $(DIST) | gzip -9n >$(BUILD)/$(DIST).tar.gz
	@echo $(BUILD)/$(DIST).tar.gz

#: make deb              build/ptxopt_VERSION_MACHINE.deb
deb: all lib
	@rm -rf $(BUILD)/deb && $(INSTALL) DESTDIR=$(BUILD)/deb PREFIX=/usr >/dev/null
	@mkdir -p $(BUILD)/deb/DEBIAN && { echo 'Package: ptxopt'; echo 'Version: $(VERSION)'; echo "Architecture: $$(dpkg --print-architecture)"; \
	    echo 'Maintainer: the ptxopt developers <ptxopt@localhost>'; echo 'Depends: libc6'; echo 'Section: devel'; echo 'Priority: optional'; \
	    echo 'Description: PTX-to-PTX optimizer'; echo ' Improves the control flow of PTX before ptxas assembles it.'; } >$(BUILD)/deb/DEBIAN/control
	@find $(BUILD)/deb -exec touch -h -d @$(EPOCH) {} +
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) dpkg-deb --root-owner-group -b $(BUILD)/deb $(BUILD)/ptxopt_$(VERSION)_$$(dpkg --print-architecture).deb

PYTHON   = python3
#: make wheel            build/ptxopt-VERSION-*.whl, the library for Python (PYTHON -m build)
wheel: lib
	@rm -rf $(BUILD)/wheel && mkdir -p $(BUILD)/wheel && cp -r src/use/integration/python/. $(BUILD)/wheel && cp $(SHARED) $(BUILD)/wheel/ptxopt
	@echo '$(VERSION)' >$(BUILD)/wheel/VERSION && printf '[bdist_wheel]\nplat_name = linux_$(MACHINE)\n' >$(BUILD)/wheel/setup.cfg
	$(Q)cd $(BUILD)/wheel && $(PYTHON) -m build --wheel --outdir . >build.log 2>&1 || { tail -5 build.log; exit 1; }
	$(Q)mv $(BUILD)/wheel/*.whl $(BUILD)

#: make uninstall        removes what install put there
uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/lib/cmake/ptxopt
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,ptxopt ptxopt-ptxas ptxopt-cicc ptxopt-prove ptxopt-report) \
	    $(addprefix $(DESTDIR)$(PREFIX)/lib/,libptxopt-preload.so libptxopt.so libptxopt.so.$(ABI) libptxopt.a pkgconfig/ptxopt.pc) \
	    $(DESTDIR)$(PREFIX)/include/ptxopt.h \
	    $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions/ptxopt zsh/site-functions/_ptxopt fish/vendor_completions.d/ptxopt.fish) \
	    $(foreach page,$(MANUAL),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(page)))/$(page))

#: make clean
clean:
	rm -rf $(BUILD)

export BUILD JOBS
MAKEFLAGS += --no-print-directory
FORCE:
.PHONY: all ptxopt-core lib dist deb wheel tools help bench bench-guard corpus worth phase fuzz fuzz-exec fuzz-mutate debug setup check $(SUITES:%=check-%) bless report gpu-check docs demo lint install uninstall clean FORCE
.DELETE_ON_ERROR:
