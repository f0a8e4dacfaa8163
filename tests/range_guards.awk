# Innermost loops with range guards, by the text alone. usage: awk -f tests/range_guards.awk FILE.ptx...
# A loop is the text from a label to the last branch back to it; it is innermost if no other one begins in it. A range guard is a branch
# forward in the loop, decided there by comparisons of integers with lt, le, gt, ge, lo, ls, hi or hs, or by `and`, `or` and `not` of such.
# Prints file, kernel, first and last line, and guards of each loop that has some.
function operands(s) { sub(/^[^ \t]+[ \t]+/, "", s); sub(/;.*/, "", s); gsub(/[ \t{}|]/, "", s); return split(s, o, ",") }
function target(s) { sub(/.*bra(\.uni)?[ \t]+/, "", s); sub(/;.*/, "", s); return s }
function guards(from, to,   i, round, s, op, p, found)
{
    delete compared
    for (round = 0; round < 4; round++)
        for (i = from; i <= to; i++) {
            s = text[i]; sub(/^@!?[^ \t]+[ \t]+/, "", s); op = s; sub(/[ \t].*/, "", op); operands(s)
            if (op ~ /^setp\.(lt|le|gt|ge|lo|ls|hi|hs)\.([a-z]+\.)?[sub](32|64)/) compared[o[1]]
            else if (op ~ /^(and|or|not)\.pred/ && (o[2] in compared || o[3] in compared)) compared[o[1]]
        }
    for (i = from; i < to; i++) {
        p = text[i]; sub(/^@!?/, "", p); sub(/[ \t].*/, "", p)
        s = target(text[i])
        found += text[i] ~ /^@!?[^ \t]+[ \t]+bra/ && p in compared && s in at && at[s] > i && at[s] <= to
    }
    return found
}
function finish(   i, t, l, k, inner, g, heads)
{
    delete at; delete end; delete head
    for (i = 1; i <= n; i++) if (text[i] ~ /^[$A-Za-z_][A-Za-z0-9_$]*:/) { t = text[i]; sub(/:.*/, "", t); at[t] = i }
    for (i = 1; i <= n; i++) {
        t = target(text[i])
        if (text[i] ~ /bra(\.uni)?[ \t]/ && t in at && at[t] <= i) { if (!(at[t] in end)) head[++heads] = at[t]; end[at[t]] = i }
    }
    for (l = 1; l <= heads; l++) {
        inner = 1
        for (k = 1; k <= heads; k++) if (k != l && head[k] >= head[l] && head[k] <= end[head[l]]) inner = 0
        if (inner && (g = guards(head[l], end[head[l]])) > 0)
            print FILENAME "\t" kernel "\t" line[head[l]] "\t" line[end[head[l]]] "\t" g
    }
    n = 0
}
FNR == 1 { n = 0 }
/\.entry|\.func/ { kernel = $0; sub(/.*(\.entry|\.func)[ \t]*(\([^)]*\))?[ \t]*/, "", kernel); sub(/[( \t].*/, "", kernel) }
{ s = $0; sub(/\/\/.*/, "", s); sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s); if (s != "") { text[++n] = s; line[n] = FNR } }
/^}/ { finish() }
