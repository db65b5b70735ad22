# Builds libgit2 with its bundled helpers: make -C TREE -f libgit2.mk B=BUILD_DIRECTORY. Unoptimised, with debug
# information, because that is what a developer builds all day (and it is quick). Needs libgit2 1.6 to 1.8.
DIRS := $(wildcard src/libgit2 src/libgit2/transports src/libgit2/streams src/util src/util/unix src/util/hash/sha1dc \
        src/util/hash/rfc6234 src/util/allocators deps/http-parser deps/llhttp deps/xdiff deps/pcre)
SOURCES := $(filter-out %/win32.c %/win32_leakcheck.c %/debugalloc.c,$(foreach d,$(DIRS),$(wildcard $(d)/*.c))) \
           $(wildcard src/util/hash/collisiondetect.c src/util/hash/builtin.c)
OBJECTS := $(SOURCES:%.c=$(B)/%.o)
CFLAGS := -g -O0 -w -fPIC -I$(B)/include -Iinclude -Isrc/libgit2 -Isrc/util $(patsubst %,-I%,$(filter deps/%,$(DIRS))) \
  -DGIT_REGEX_BUILTIN=1 -DHAVE_STDINT_H=1 -DHAVE_MEMMOVE=1 -DNO_RECURSE=1 -DNEWLINE=10 -DPOSIX_MALLOC_THRESHOLD=10 \
  -DLINK_SIZE=2 -DPARENS_NEST_LIMIT=250 -DMATCH_LIMIT=10000000 -DMATCH_LIMIT_RECURSION=MATCH_LIMIT -DMAX_NAME_SIZE=32 \
  -DMAX_NAME_COUNT=10000 -DSHA1DC_NO_STANDARD_INCLUDES=1 -DSHA1DC_CUSTOM_INCLUDE_SHA1_C='"common.h"' \
  -DSHA1DC_CUSTOM_INCLUDE_UBC_CHECK_C='"common.h"'
$(B)/libgit2.a: $(OBJECTS)
	ar rcs $@ $^
$(B)/include/git2_features.h:
	mkdir -p $(@D)
	for d in THREADS USE_NSEC IO_POLL IO_SELECT USE_STAT_MTIM ARCH_64 SHA1_COLLISIONDETECT SHA256_BUILTIN HTTPPARSER_BUILTIN; do echo "#define GIT_$$d 1"; done >$@
$(B)/%.o: %.c $(B)/include/git2_features.h
	@mkdir -p $(@D)
	gcc $(CFLAGS) -c $< -o $@
