# Installing, and packages.

#: make install          to $(DESTDIR)$(PREFIX); the program is stripped
install: all lib $(BUILD)/ptxopt.pc $(BUILD)/ptxopt-config-version.cmake
	install -D -s --strip-program=$(STRIP) -m 755 $(BUILD)/ptxopt $(DESTDIR)$(PREFIX)/bin/ptxopt
	install -D -s --strip-program=$(STRIP) -m 755 $(PROVE) $(DESTDIR)$(PREFIX)/bin/ptxopt-prove
	install -D -s --strip-program=$(STRIP) -m 755 $(REPORT) $(DESTDIR)$(PREFIX)/bin/ptxopt-report
	install -D -s --strip-program=$(STRIP) -m 755 $(REDUCE) $(DESTDIR)$(PREFIX)/bin/ptxopt-reduce
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
INSTALL  = install BUILD=$(BUILD)

#: make dist             build/ptxopt-VERSION-linux-MACHINE.tar.gz: the static program, the library, the manual
dist: all lib
	@rm -rf $(BUILD)/dist && $(MAKE) $(INSTALL) DESTDIR=$(BUILD)/dist PREFIX=/$(DIST) >/dev/null && cp LICENSE CHANGELOG.md README.md $(BUILD)/dist/$(DIST)
	$(Q)tar -C $(BUILD)/dist --sort=name --mtime=@$(EPOCH) --owner=0 --group=0 --numeric-owner -cf - $(DIST) | gzip -9n >$(BUILD)/$(DIST).tar.gz
	@echo $(BUILD)/$(DIST).tar.gz

#: make deb              build/ptxopt_VERSION_MACHINE.deb
deb: all lib
	@rm -rf $(BUILD)/deb && $(MAKE) $(INSTALL) DESTDIR=$(BUILD)/deb PREFIX=/usr >/dev/null
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
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,ptxopt ptxopt-ptxas ptxopt-cicc ptxopt-prove ptxopt-report ptxopt-reduce) \
	    $(addprefix $(DESTDIR)$(PREFIX)/lib/,libptxopt-preload.so libptxopt.so libptxopt.so.$(ABI) libptxopt.a pkgconfig/ptxopt.pc) \
	    $(DESTDIR)$(PREFIX)/include/ptxopt.h \
	    $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions/ptxopt zsh/site-functions/_ptxopt fish/vendor_completions.d/ptxopt.fish) \
	    $(foreach page,$(MANUAL),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(page)))/$(page))

$(BUILD)/%.pc: src/use/api/%.pc.in FORCE
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $< >$@

$(BUILD)/%.cmake: src/use/api/%.cmake.in FORCE
	$(Q)sed 's|@VERSION@|$(VERSION)|' $< >$@

.PHONY: install dist deb wheel uninstall
