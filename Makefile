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
say      = $(if $(V),@:,@echo '  $(1)$(count)' $@)
# Objects that a first build makes are counted: [17/260].
count    = $(if $(filter $@,$(MISSING)),$(eval MADE += x) [$(words $(MADE))/$(words $(MISSING))])

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
REDUCE   = $(BUILD)/ptxopt-reduce
# The optimizer alone: the first group of src/README.md.
CORE     = $(patsubst src/%.c,$(BUILD)/obj/%.o,$(foreach room,base isa ir parse target analysis transform phase phase/* pipeline,$(wildcard src/$(room)/*.c))) \
           $(BUILD)/obj/gen/parser.o $(BUILD)/obj/gen/lexer.o
OBJECTS  = $(CORE) $(patsubst src/%.c,$(BUILD)/obj/%.o,$(filter-out src/use/preload/%,$(wildcard src/check/*/*.c src/judge/*/*.c src/use/*/*.c)))
MISSING := $(filter-out $(wildcard $(BUILD)/obj/*/*.o $(BUILD)/obj/*/*/*.o),$(OBJECTS) $(patsubst src/%.c,$(BUILD)/obj/%.o,$(filter-out %_core.c,src/tool/process.c $(wildcard src/tool/ptxopt*.c))))
TOOL     = $(BUILD)/obj/tool/ptxopt.o $(BUILD)/obj/tool/process.o
MANUAL   = $(notdir $(wildcard man/*.[1-9]))
PIC      = $(patsubst $(BUILD)/obj/%,$(BUILD)/pic/%,$(filter-out %/optimize.o,$(CORE)) $(BUILD)/obj/use/api/api.o)

all: $(PTXOPT) $(FRONTS) $(PROVE) $(REPORT) $(REDUCE) $(LIB)
	@:

help:
	@sed -n 's/^#: *//p' Makefile $(PARTS) | sed 's/$$(PROBES)/$(PROBES)/'

# Static where that can be had (not with sanitizers), and at a fixed address: nothing is loaded or relocated at the start,
# which takes a third off a small file's time and a megabyte off what is held.
$(PTXOPT): $(TOOL) $(LIB)
$(PROVE): $(BUILD)/obj/tool/ptxopt_prove.o $(BUILD)/obj/tool/process.o $(LIB)
$(PTXOPT) $(PROVE):
	$(call say,LINK )
	$(Q)$(LINK) -static -o $@ $(filter %.o %.a,$^) -lm 2>/dev/null || $(LINK) -o $@ $(filter %.o %.a,$^) -lm

$(REPORT): $(BUILD)/obj/tool/ptxopt_report.o $(BUILD)/obj/tool/process.o $(LIB)
$(REDUCE): $(BUILD)/obj/tool/ptxopt_reduce.o $(LIB)
$(REPORT) $(REDUCE):
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

$(BUILD)/pic/%: private COMPILE := $(subst -fno-pie,,$(COMPILE)) -fPIC -fvisibility=hidden

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
	@new=$@.$$$$; sh src/version.sh >$$new && if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

$(GEN)/lexer.c: grammar/ptx.re
	$(call say,RE2C )
	@mkdir -p $(@D)
	$(Q)$(RE2C) -W -Werror --no-generation-date -o $@ $<

PARTS    = mk/tests.mk mk/suites.mk mk/packages.mk
include $(PARTS)

-include $(shell find $(BUILD)/obj $(BUILD)/pic $(BUILD)/tests $(BUILD)/faulty -name '*.d' 2>/dev/null)
.SECONDARY:

#: make debug            unoptimized build in build/debug; the checker runs after every phase
debug:
	@$(MAKE) BUILD=$(BUILD)/debug CFLAGS='-O0 -g' CPPFLAGS='$(CPPFLAGS) -DPTXOPT_DEBUG' all

#: make setup            installs what the build (setup-build) and the tests (setup-tests) need, if it is missing (apt)
setup: setup-build setup-tests
setup-build:
	@sh tests/setup.sh build
setup-tests: setup-build
	@sh tests/setup.sh tests

# Where there is no ptxas, NVIDIA's wheel of it, into build/ptxas, if there is pip. NO_FETCH=1 forbids that.
fetch-ptxas:
	@sh tests/setup.sh ptxas

#: make phase NAME=x      writes the skeleton of a new phase: its file, rows, two cases, a section of the manual
phase:
	@sh src/phase/skeleton.sh '$(NAME)'

#: make docs             the generated parts of the manual pages and README, from the tables of options and phases
docs: all
	@sh man/update.sh

#: make demo             installs what the build needs, builds, and shows three kernels before and after
demo: setup-build fetch-ptxas
	@$(MAKE) all $(PTXRUN)
	@sh examples/demo.sh

#: make clean
clean:
	rm -rf $(BUILD)

export BUILD JOBS
# All cores build, unless make was told how many may. Several goals that are not only built are made one after another.
MAKEFLAGS += --no-print-directory $(if $(filter -j% --jobserver%,$(shell echo "$$MAKEFLAGS")),,-j$(shell nproc 2>/dev/null || echo 2))
ifneq ($(and $(word 2,$(MAKECMDGOALS)),$(filter-out all tools lib ptxopt-core $(BUILD)/%,$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif
FORCE:
.PHONY: all ptxopt-core lib help debug setup setup-build setup-tests fetch-ptxas phase docs demo clean FORCE
.DELETE_ON_ERROR:
