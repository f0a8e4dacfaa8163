# Installing, and packages.

LIBDIR   = $(PREFIX)/lib
# pkg-config finds the rest from where its file lies, so that the folder can be moved; not so where LIBDIR is another one.
PC_PREFIX = $(if $(filter $(PREFIX)/lib,$(LIBDIR)),$${pcfiledir}/../..,$(PREFIX))
PC_LIBDIR = $(if $(filter $(PREFIX)/lib,$(LIBDIR)),$${prefix}/lib,$(LIBDIR))

#: make install          to $(DESTDIR)$(PREFIX); the program is stripped
install: all lib $(BUILD)/ptxopt.pc $(BUILD)/ptxopt-config-version.cmake
	install -D -s --strip-program=$(STRIP) -m 755 $(BUILD)/ptxopt $(DESTDIR)$(PREFIX)/bin/ptxopt
	install -D -s --strip-program=$(STRIP) -m 755 $(PROVE) $(DESTDIR)$(PREFIX)/bin/ptxopt-prove
	install -D -s --strip-program=$(STRIP) -m 755 $(REPORT) $(DESTDIR)$(PREFIX)/bin/ptxopt-report
	install -D -s --strip-program=$(STRIP) -m 755 $(REDUCE) $(DESTDIR)$(PREFIX)/bin/ptxopt-reduce
	ln -sf ptxopt $(DESTDIR)$(PREFIX)/bin/ptxopt-ptxas
	ln -sf ptxopt $(DESTDIR)$(PREFIX)/bin/ptxopt-cicc
	install -D -s --strip-program=$(STRIP) -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)/libptxopt.so.$(ABI)
	ln -sf libptxopt.so.$(ABI) $(DESTDIR)$(LIBDIR)/libptxopt.so
	install -D -s --strip-program=$(STRIP) -m 755 $(PRELOAD) $(DESTDIR)$(LIBDIR)/libptxopt-preload.so
	install -D -m 644 $(BUILD)/libptxopt.a $(DESTDIR)$(LIBDIR)/libptxopt.a
	install -D -m 644 src/use/api/ptxopt.h $(DESTDIR)$(PREFIX)/include/ptxopt.h
	install -D -m 644 $(BUILD)/ptxopt.pc $(DESTDIR)$(LIBDIR)/pkgconfig/ptxopt.pc
	install -D -m 644 -t $(DESTDIR)$(LIBDIR)/cmake/ptxopt src/use/api/ptxopt-config.cmake $(BUILD)/ptxopt-config-version.cmake src/use/integration/cmake/Ptxopt.cmake
	install -D -m 644 src/use/integration/completions/ptxopt.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ptxopt
	install -D -m 644 src/use/integration/completions/_ptxopt $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ptxopt
	install -D -m 644 src/use/integration/completions/ptxopt.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ptxopt.fish
	for page in $(MANUAL); do install -D -m 644 man/$$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$$page; done
	ln -sf ptxopt-ptxas.1 $(DESTDIR)$(PREFIX)/share/man/man1/ptxopt-cicc.1

MACHINE  = $(shell uname -m)
DIST     = ptxopt-$(VERSION)-linux-$(MACHINE)
# The time of the last commit: what is packed has no other.
EPOCH    = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || echo 0))
INSTALL  = install BUILD=$(BUILD)

#: make dist             build/ptxopt-VERSION-linux-MACHINE.tar.gz: the static program, the library, the manual
dist: all lib
	@rm -rf $(BUILD)/dist && $(MAKE) $(INSTALL) DESTDIR=$(BUILD)/dist PREFIX=/$(DIST) >/dev/null && cp LICENSE CHANGELOG.md README.md $(BUILD)/dist/$(DIST)
	$(Q)tar -C $(BUILD)/dist --sort=name --mtime=@$(EPOCH) --owner=0 --group=0 --numeric-owner -cf - $(DIST) | gzip -9n >$(BUILD)/$(DIST).tar.gz
	@echo $(BUILD)/$(DIST).tar.gz

#: make deb              build/ptxopt_VERSION_MACHINE.deb, and ptxopt-dev_VERSION_MACHINE.deb
deb: all lib
	@rm -rf $(BUILD)/deb && $(MAKE) $(INSTALL) DESTDIR=$(BUILD)/deb PREFIX=/usr \
	    LIBDIR=/usr/lib/$$($(CC) -print-multiarch 2>/dev/null || dpkg-architecture -qDEB_HOST_MULTIARCH) >/dev/null
	@sh mk/deb.sh $(BUILD)/deb $(VERSION) $(EPOCH) $(BUILD)

PYTHON   = python3
#: make wheel            build/ptxopt-VERSION-*.whl, the library for Python and the program (PYTHON -m build)
wheel: lib $(PTXOPT)
	@rm -rf $(BUILD)/wheel && mkdir -p $(BUILD)/wheel && cp -r src/use/integration/python/. $(BUILD)/wheel && cp LICENSE README.md $(BUILD)/wheel
	@mkdir -p $(BUILD)/wheel/ptxopt/bin && $(STRIP) -o $(BUILD)/wheel/ptxopt/bin/ptxopt $(PTXOPT) && \
	    $(STRIP) --strip-unneeded -o $(BUILD)/wheel/ptxopt/$(notdir $(SHARED)) $(SHARED)
	@echo '$(VERSION)' >$(BUILD)/wheel/VERSION && printf '[bdist_wheel]\nplat_name = manylinux_%s_$(MACHINE)\n' \
	    $$(objdump -T $(SHARED) | sed -n 's/.*GLIBC_\([0-9]*\)\.\([0-9]*\).*/\1_\2/p' | sort -uV | tail -1) >$(BUILD)/wheel/setup.cfg
	$(Q)cd $(BUILD)/wheel && $(PYTHON) -m build --wheel --outdir . >build.log 2>&1 || { tail -5 build.log; exit 1; }
	$(Q)mv $(BUILD)/wheel/*.whl $(BUILD)

#: make release          build/release/ptxopt: optimized as one program, by what it does on the examples; equal sources, equal bytes
# What differs from run to run is fixed: seeds, folders, and the addresses of the program that counts, on which some counts depend.
RELEASE  = $(BUILD)/release
TRAINED  = -flto -ffile-prefix-map=$(CURDIR)=. -frandom-seed=$$@ -fprofile-update=single -fprofile-reproducible=serial
release:
	$(Q)rm -rf $(RELEASE)
	$(Q)$(MAKE) BUILD=$(RELEASE) AR=gcc-ar CFLAGS='$(CFLAGS) $(TRAINED) -fprofile-generate' $(RELEASE)/ptxopt
	$(Q)for file in examples/*.ptx; do setarch -R $(RELEASE)/ptxopt -O2 $$file -o /dev/null || exit 1; done
	$(Q)$(MAKE) BUILD=$(RELEASE) AR=gcc-ar CFLAGS='$(CFLAGS) $(TRAINED) -fprofile-use -fprofile-partial-training -Wno-missing-profile' $(RELEASE)/ptxopt

#: make uninstall        removes what install put there
uninstall:
	rm -rf $(DESTDIR)$(LIBDIR)/cmake/ptxopt
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/ptxopt-cicc.1 $(addprefix $(DESTDIR)$(PREFIX)/bin/,ptxopt ptxopt-ptxas ptxopt-cicc ptxopt-prove ptxopt-report ptxopt-reduce) \
	    $(addprefix $(DESTDIR)$(LIBDIR)/,libptxopt-preload.so libptxopt.so libptxopt.so.$(ABI) libptxopt.a pkgconfig/ptxopt.pc) \
	    $(DESTDIR)$(PREFIX)/include/ptxopt.h \
	    $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions/ptxopt zsh/site-functions/_ptxopt fish/vendor_completions.d/ptxopt.fish) \
	    $(foreach page,$(MANUAL),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(page)))/$(page))

$(BUILD)/%.pc: src/use/api/%.pc.in FORCE
	$(Q)sed 's|@PREFIX@|$(PC_PREFIX)|; s|@LIBDIR@|$(PC_LIBDIR)|; s|@VERSION@|$(VERSION)|' $< >$@

$(BUILD)/%.cmake: src/use/api/%.cmake.in FORCE
	$(Q)sed 's|@VERSION@|$(VERSION)|' $< >$@

.PHONY: install dist deb wheel release uninstall
