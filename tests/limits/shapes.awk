# Prints a kernel that reaches bounds of the optimizer which no real file does: see tests/limits.sh.
# usage: awk -v shape=NAME -f tests/limits/shapes.awk
function say(text) { print "    " text }
function label(name) { print name ":" }
# One of several conditions on the loaded number, into a predicate.
function compare(k) { say("setp.gt.u32 %p" k ", %r1, " 3 * k + 7 ";") }
function store(at, reg) { say("st.global.u32 [%rd2+" 4 * at "], %r" reg ";") }
BEGIN {
    print ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{"
    say(".reg .pred %p<2000>;")
    say(".reg .b32 %r<3000>;")
    say(".reg .b64 %rd<2000>;")
    say("ld.param.u64 %rd1, [p];")
    say("cvta.to.global.u64 %rd2, %rd1;")
    say("ld.global.u32 %r1, [%rd2];")
    say("ld.param.u32 %r2, [n];")
    say("mov.u32 %r3, %tid.x;")
    if (shape == "facts") { # 80 branches on one number, one behind the other, and a question where none of them has decided
        for (k = 0; k < 80; k++) {
            compare(k)
            say("@%p" k " bra N" k ";")
            say("bra J;")
            label("N" k)
            store(k, 1)
        }
        say("bra OUT;")
        label("J")
        say("setp.eq.u32 %p901, %r2, 3;")
        say("@%p901 bra OUT;")
        say("setp.gt.u32 %p900, %r1, 5;")
        say("@%p900 bra OUT;")
        store(81, 2)
    } else if (shape == "hops") { # 70 blocks that do nothing before the header of a loop
        say("setp.eq.u32 %p0, %r1, 1;")
        say("@%p0 bra H;")
        for (k = 0; k < 70; k++) {
            say("setp.eq.u32 %p" k + 1 ", %r1, " k + 9 ";")
            say("@%p" k + 1 " bra E" k ";")
        }
        for (k = 0; k < 70; k++) {
            label("E" k)
            say("bra " (k < 69 ? "E" k + 1 : "H") ";")
        }
        label("H")
        say("add.u32 %r3, %r3, 1;")
        store(3, 3)
        say("setp.lt.u32 %p100, %r3, %r2;")
        say("@%p100 bra H;")
    } else if (shape == "shift") { # what a loop passes on is constant after ten iterations
        for (k = 10; k < 22; k++)
            say("ld.global.u32 %r" k ", [%rd2+" 4 * k "];")
        label("H")
        for (k = 21; k > 10; k--)
            say("add.u32 %r" k ", %r" k - 1 ", 1;")
        say("mov.u32 %r10, 5;")
        say("setp.lt.u32 %p0, %r21, 40;")
        say("@%p0 bra H;")
        store(1, 21)
    } else if (shape == "affine") { # a counter that is compared through ten additions
        say("mov.u32 %r9, 0;")
        label("H")
        for (k = 10; k <= 20; k++)
            say("add.u32 %r" k ", %r" k - 1 ", 3;")
        store(1, 20)
        say("add.u32 %r9, %r9, 1;")
        say("setp.lt.u32 %p0, %r20, %r2;")
        say("@%p0 bra H;")
        store(2, 9)
    } else if (shape == "hoist" || shape == "names") { # arms that begin alike
        compare(0)
        say("@%p0 bra B;")
        for (arm = 0; arm < 2; arm++) {
            if (arm)
                label("B")
            if (shape == "hoist")
                for (k = 10; k < 80; k++)
                    say("xor.b32 %r" k ", %r" (k == 10 ? 1 : k - 1) ", %r3;")
            else
                for (k = 0; k < 17; k++)
                    say("ld.global.v4.u32 {%r" 10 + 4 * k ", %r" 11 + 4 * k ", %r" 12 + 4 * k ", %r" 13 + 4 * k "}, [%rd2+" 16 * k + 16 "];")
            for (k = 10; k < (shape == "hoist" ? 80 : 78); k++)
                say((arm ? "add" : "sub") ".u32 %r100, %r" (k == 10 ? 2 : 100) ", %r" k ";")
            store(90 + arm, 100)
            if (!arm)
                say("bra OUT;")
        }
    } else if (shape == "steps") { # one question about a tree of choices, each by a tree of conditions
        for (k = 0; k < 64; k++) {
            compare(k)
            say("and.b32 %r" 100 + k ", %r" (k % 2 ? 1 : 3) ", " k + 1 ";")
        }
        at = 0
        to = 64
        for (n = 32; n > 0; n = int(n / 2))
            for (k = 0; k < n; k++) {
                say("and.pred %p" to ", %p" at ", %p" at + 1 ";")
                say("selp.b32 %r" 100 + to ", %r" 100 + at ", %r" 101 + at ", %p" to ";")
                at += 2
                to++
            }
        say("setp.gt.u32 %p900, %r" 99 + to ", 255;")
        say("@%p900 bra OUT;")
        store(1, 99 + to)
    } else if (shape == "ladder") { # 30 blocks from which control goes one up or one down; both ends leave
        for (k = 0; k < 30; k++) {
            label("A" k)
            say("bar.warp.sync -1;")
            say("ld.volatile.global.u32 %r" 50 + k ", [%rd2+" 4 * k "];")
            say("setp.eq.u32 %p" k ", %r" 50 + k ", %r3;")
            say("@%p" k " bra " (k ? "A" k - 1 : "X") ";")
        }
        store(40, 3)
        say("ret;")
        label("X")
        store(41, 3)
    } else if (shape == "regions") { # rings of two blocks, each entered in both from the one before
        say("setp.eq.u32 %p0, %r1, 0;")
        say("@%p0 bra B0;")
        for (side = 0; side < 2; side++)
            for (k = 0; k < 160; k++) {
                label((side ? "B" : "A") k)
                store(k, 3)
                say("add.u32 %r3, %r3, " side + 1 ";")
                say("setp.lt.u32 %p1, %r3, %r2;")
                say("@%p1 bra " (side ? "A" : "B") k ";")
                if (k == 159)
                    say("bra OUT;")
            }
    }
    label("OUT")
    say("ret;")
    print "}"
}
