# The programs that test and measure.

UNIT     = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
TOOLS    = $(BUILD)/cubinstat $(BUILD)/cubinjudge $(BUILD)/cubincmp
PTXRUN   = $(BUILD)/ptxrun
BUGS     = $(BUILD)/bugloops $(BUILD)/bugcode
BENCH    = $(patsubst tests/bench/%.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
FUZZ     = $(BUILD)/ptxgen $(BUILD)/fuzz-exec
GENERATE = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/gen/*.c))
JUDGE    = $(BUILD)/tests/fuzz/fuzz_exec.o $(BUILD)/tests/fuzz/mutate.o $(BUILD)/tests/fuzz/judge.o $(BUILD)/tests/fuzz/ask.o $(GENERATE)
# The faulty binaries are compiled anew where the table of phases counts.
FAULTY   = $(patsubst src/%.c,$(BUILD)/faulty/%.o,$(wildcard src/pipeline/*.c src/check/proof/*.c src/judge/trial/*.c src/judge/guard/*.c src/judge/tune/*.c src/use/front/*.c)) \
           $(patsubst %.c,$(BUILD)/faulty/%.o,$(wildcard tests/fuzz/faults/*.c))
N        = 1000
FIRST    = 1
FUZZ_SECONDS = 60
NVCC    := $(shell . tests/lib.sh && cuda_tool nvcc)
LARGE    = $(if $(NVCC),$(patsubst examples/large/%.cu,$(BUILD)/large/%.ptx,$(wildcard examples/large/*.cu)))

#: make tools            build/cubinstat reads machine code, build/ptxrun runs kernels without a GPU
tools: $(TOOLS) $(PTXRUN) $(BUILD)/gpu_check $(BUILD)/judge_check
	@:

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
$(BUILD)/fuzz-exec: | $(REDUCE)
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

$(BUILD)/faulty/%.o: private COMPILE := $(subst -Isrc,-Itests/fuzz/faults/table -Isrc,$(COMPILE))
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

$(BUILD)/fuzz-text: $(BUILD)/tests/fuzz/fuzz_text.o $(BUILD)/tests/fuzz/optimize.o $(LIB)
	$(call say,LINK )
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o %.a,$^)

# Phases that are made for a test leave the options alone.
$(BUILD)/faulty/tests/% $(BUILD)/tests/unit/test_runner.o: OWN = -Wno-unused-parameter

.PHONY: tools
