# Prints a text that means the same: ptxas makes the same code of it. usage: awk -f tests/judge/same.awk FILE.ptx
#   Registers and labels that compilers have numbered have other names.
#   A comment stands before each statement.
#   Positions in the source (.loc) are removed or, if there are none, one stands before each statement.
#   The first kernel stands last. There are a function and a kernel more.
function bare(text)
{
    sub(/\/\/.*/, "", text)
    return text
}

function count_of(brace, text) { return gsub(brace, "", text) }

# What compilers number begins with small letters: %r1, %rd<5>. Special registers are not theirs.
function rename_registers(text,  out, name)
{
    while (match(text, /%[a-z]+[0-9<]/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        out = out substr(text, 1, RSTART - 1) (name ~ /^(envreg|pm|clock|globaltimer|reserved)/ ? "%" : "%judge_") name
        text = substr(text, RSTART + RLENGTH - 1)
    }
    return out text
}

# A label, and a word with a dot behind it, is no statement: `L:`, `table: .branchtargets`.
function begins_statement(n)
{
    return inside[n] && after_end[n] && line[n] ~ /^[ \t]*(@!?[%A-Za-z0-9_$]+[ \t]+)?[a-z][a-z0-9]*([.:][a-z0-9_:]+)*([ \t]|;)/ &&
        line[n] !~ /^[^;]*:[ \t]*\./
}

function emit(n,  text)
{
    text = rename_registers(line[n])
    gsub(/\$L__/, "$L__judge_", text)
    if (has_lines && text ~ /^[ \t]*\.(loc|file)[ \t]/)
        return
    if (begins_statement(n))
        print "\t// statement " n (has_lines ? "" : "\n\t.loc 1 " n " 1")
    print text
}

{
    text = bare($0)
    line[NR] = $0
    inside[NR] = depth > 0
    after_end[NR] = was_end
    has_lines += text ~ /^[ \t]*\.loc[ \t]/
    if (!depth && text ~ /\.entry[ \t]/ && !entries++)
        first = NR
    depth += count_of("{", text) - count_of("}", text)
    if (entries == 1 && !depth && !last && text ~ /}/)
        last = NR
    # A pragma is about what follows it.
    if (text !~ /^[ \t]*$/)
        was_end = text ~ /([;:{}]|^[ \t]*\.loc[ \t].*)[ \t]*$/ && text !~ /\.pragma/
}

END {
    for (n = 1; n <= NR; n++)
        if (entries < 2 || n < first || n > last)
            emit(n)
    for (n = first; entries > 1 && n <= last; n++)
        emit(n)
    print ".func judge_unused()\n{\n\tret;\n}\n.visible .entry judge_unused_kernel()\n{\n\tret;\n}"
    if (!has_lines)
        print "\t.file 1 \"judge.cu\", 1, 1"
}
