# Writes a module for the rows of src/target/ptxas.def, with two kernels a row: priceN_2 and priceN_4 hold two and four copies of
# its sample, which load the sources of their own and store what it computes.
# usage: awk -v version=8.0 -v target=sm_80 -f kernels.awk ptxas.def
# The first letter of a sample's register is its type, the second one x where it is written.
function declare(reg)
{
    if (reg ~ /^p/) printf "\t.reg .pred %s;\n\t.reg .b32 %%%s;\n", reg, reg
    else printf "\t.reg .%s %s;\n", type[substr(reg, 1, 1)], reg
}

function load(reg, at)
{
    if (reg ~ /^p/) printf "\tld.global.b32 %%%s, [%%in+%d];\n\tsetp.ne.b32 %s, %%%s, 0;\n", reg, at, reg, reg
    else printf "\tld.global.%s %s, [%%in+%d];\n", type[substr(reg, 1, 1)], reg, at
}

function store(reg, at)
{
    if (reg ~ /^p/) printf "\tselp.b32 %%%s, 1, 0, %s;\n\tst.global.b32 [%%out+%d], %%%s;\n", reg, reg, at, reg
    else printf "\tst.global.%s [%%out+%d], %s;\n", type[substr(reg, 1, 1)], at, reg
}

# Sets reg[1..regs].
function read_sample(sample)
{
    regs = 0
    split("", seen)
    for (; match(sample, /[ (][fdrlhp][xabcd]/); sample = substr(sample, RSTART + 3)) {
        name = substr(sample, RSTART + 1, 2)
        if (!(name in seen)) reg[++regs] = name
        seen[name]
    }
}

function copy(at,   i)
{
    print "\t{"
    for (i = 1; i <= regs; i++) declare(reg[i])
    for (i = 1; i <= regs; i++) if (reg[i] !~ /x$/) load(reg[i], at + 8 * i)
    print "\t" part[4] ";"
    for (i = 1; i <= regs; i++) if (reg[i] ~ /x$/) store(reg[i], at)
    print "\t}"
}

function kernel(copies,   k)
{
    printf ".visible .entry price%d_%d(.param .u64 i, .param .u64 o)\n{\n", rows, copies
    print "\t.reg .b64 %in, %out;\n\tld.param.u64 %in, [i];\n\tld.param.u64 %out, [o];"
    print "\tcvta.to.global.u64 %in, %in;\n\tcvta.to.global.u64 %out, %out;"
    for (k = 0; k < copies; k++) copy(64 * k)
    print "\tret;\n}"
}

BEGIN {
    type["f"] = "f32"; type["d"] = "f64"; type["r"] = "b32"; type["l"] = "b64"; type["h"] = "b16"
    print ".version " version "\n.target " target "\n.address_size 64"
    # Too much to be inlined.
    print ".func (.reg .b32 %x) callee(.reg .b32 %a, .reg .b32 %b)\n{\n\t.reg .pred %p;\n\t.reg .b32 %t;"
    print "L:\n\tactivemask.b32 %t;\n\txor.b32 %a, %a, %t;\n\tsetp.ne.b32 %p, %a, %b;\n\t@%p bra L;\n\tmov.b32 %x, %a;\n\tret;\n}"
}

/^(COST|PAIR)\(/ {
    rows++
    split($0, part, "\"")
    read_sample(part[4])
    kernel(2)
    kernel(4)
}
