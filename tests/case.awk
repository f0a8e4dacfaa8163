# Takes a test case apart. usage: awk -v want=PART [-v prologue=FILE] -f tests/case.awk CASE.ptx
#   want=input    the header (the comment lines on top), the prologue where the header has a line `// PROLOGUE`, the body
#   want=prefix   the header and the prologue alone
#   want=NAME     the section under the line `// NAME`; of EXPECT the whole text, with what the input has in front of it
# Exit status 1: there is no such section.
function print_prologue(  line)
{
    if (asked && !(want == "EXPECT" && whole)) {
        while ((getline line < prologue) > 0)
            print line
    }
}

FNR == 1 { in_header = 1 }
/^\/\/ (EXPECT|REMARKS|STDERR|ERROR)$/ { section = $2; found[section] = 1; next }
in_header && section == "" && /^\/\// {
    if ($0 == "// PROLOGUE")
        asked = 1
    else
        header = header $0 "\n"
    next
}
{ in_header = 0 }
section == "" && want == "input" { body = body $0 "\n" }
section == want {
    if (section == "EXPECT" && body == "" && /^\.version/)
        whole = 1
    body = body $0 "\n"
}
END {
    if (want != "input" && want != "prefix" && !(want in found))
        exit 1
    if (want == "input" || want == "prefix" || want == "EXPECT") {
        printf "%s", header
        print_prologue()
    }
    printf "%s", body
    if (asked && (want == "input" || want == "EXPECT") && !whole)
        print "}"
}
