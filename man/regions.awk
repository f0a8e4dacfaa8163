# Writes the generated parts of the manual pages. usage:
#   awk -v part=PART [-v phase=NAME] -f man/regions.awk man/details.mdoc HELP
# PART is options, promises, knobs (of one phase if that is given), or phases; HELP is what `ptxopt --help-hidden` prints, or, for phases,
# `ptxopt --list-phases`. man/details.mdoc holds what the pages say beyond that:
#   @--name     the lines up to the next `@` take the place of the help text
#   +--name     they follow it

# `--passes=LIST` as the head of a list's item.
function head(option,  argument)
{
    if (sub(/^--\[no-\]/, "", option))
        return ".It Fl -" option " , Fl -no-" option
    if (option ~ /^-[A-Za-z], --/)
        return ".It Fl " substr(option, 2, 1) " , Fl -" substr(option, 7)
    if (option ~ /^-[A-Za-z] /)
        return ".It Fl " substr(option, 2, 1) " Ar " tolower(substr(option, 4))
    if (match(option, /\[=.*\]/)) {
        argument = substr(option, RSTART + 2, RLENGTH - 3)
        return ".It Fl " substr(option, 2, RSTART - 2) " Ns Op = Ns Cm " argument
    }
    if (match(option, /=/))
        return ".It Fl " substr(option, 2, RSTART - 2) " Ns = Ns Ar " tolower(substr(option, RSTART + 1))
    return ".It Fl " substr(option, 2)
}

# The option's name as man/details.mdoc has it.
function key(option)
{
    sub(/^-[A-Za-z], /, "", option)
    sub(/\[no-\]/, "", option)
    sub(/[ =[].*/, "", option)
    return option
}

function sentence(text) { return toupper(substr(text, 1, 1)) substr(text, 2) "." }

# One option or knob; `--x=N` stands with a knob's phase, help and default in text.
function item(option, text,  initial, name)
{
    if (option == "")
        return
    if (part == "knobs") {
        if (phase != "" && phase != owner)
            return
        initial = text
        sub(/.*\(default: /, "", initial)
        sub(/\)$/, "", initial)
        sub(/ \(default: [^()]*\)$/, "", text)
    }
    name = key(option)
    print part == "promises" ? ".It Cm " option : head(option)
    if (("@" name) in details)
        printf "%s", details["@" name]
    else
        print part == "knobs" && phase == "" ? owner ": " text "." : sentence(text)
    if (part == "knobs")
        print "Default: " initial "."
    printf "%s", details["+" name]
    used["@" name] = used["+" name] = 1
}

FNR == NR {
    if (/^[@+][-a-z]/) { at = $1; details[at] = ""; next }
    if (at != "" && !/^#/)
        details[at] = details[at] $0 "\n"
    next
}
part == "phases" {
    level = substr($2, 3)
    name = $1
    sub(/^[^ ]+ +[^ ]+ +/, "")
    printf ".It Cm %s Pq Fl O Ns %s\n%s\n", name, level, sentence($0)
    next
}
/^[A-Z].*:$/ {
    item(option, text)
    option = ""
    if (part == "options" && open)
        print ".El"
    owner = substr($3, 1, length($3) - 1)
    open = inside = part == (/^Knobs of / ? "knobs" : /^Promises/ ? "promises" : "options")
    if (part == "options" && open)
        print ".Ss " substr($0, 1, length($0) - 1) "\n.Bl -tag -width Ds"
    next
}
inside && /^  [-a-z0-9]/ {
    item(option, text)
    option = substr($0, 3)
    text = ""
    if (match(option, /  +/)) {
        text = substr(option, RSTART + RLENGTH)
        option = substr(option, 1, RSTART - 1)
    } else if (length($0) > 28 && match(option, /^-[^ ]*( [A-Z]+)? /)) {
        text = substr(option, RSTART + RLENGTH)
        option = substr(option, 1, RSTART + RLENGTH - 2)
    }
    next
}
inside && /^ +[^ ]/ { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0 }
END { item(option, text) }
