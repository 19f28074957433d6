# In place of pkg-config: the libraries, from their sources in DSGD_LIBRARIES, by the names that CMakeLists.txt asks for.
# Of GSL what is used; others whole. None is configured: what that would find is said here.
set(PkgConfig_FOUND TRUE)
macro(pkg_check_modules)
endmacro()
if(TARGET gsl)
    return()
endif()
set(made ${PROJECT_BINARY_DIR}/libraries) # headers

# The sources, as Debian distributes them: what is not in DSGD_LIBRARIES yet comes from its mirror, or from its archive of all times.
foreach(source IN ITEMS
        "g/gsl/gsl_2.8+dfsg.orig.tar.gz 69614b7005133a2d3a75827044164de98670568382e3192888a3185578451a70"
        "j/jansson/jansson_2.14.orig.tar.gz c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b"
        "libf/libfyaml/libfyaml_0.7.12.orig.tar.gz 485342c6920e9fdc2addfe75e5c3e0381793f18b339ab7393c1b6edf78bf8ca8"
        "e/expat/expat_2.5.0.orig.tar.gz ab00ee05c7067fd10a35c5d2a4922ebba746ddd50ff83b79c828da17bbdf1757"
        "z/zlib/zlib_1.3.dfsg+really1.3.1.orig.tar.gz 60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb"
        "libr/librandom123/librandom123_1.14.0+dfsg.orig.tar.xz 0ed9bf1de7732303f35529ff9b42b0ab84e1fbeaad8ba97768440d8e2b109e87")
    string(REPLACE " " ";" source ${source})
    list(GET source 0 path)
    list(GET source 1 hash)
    cmake_path(GET path FILENAME name)
    set(archive ${DSGD_LIBRARIES}/${name})
    foreach(mirror IN ITEMS http://deb.debian.org/debian https://snapshot.debian.org/archive/debian/20260101T000000Z)
        if(NOT EXISTS ${archive})
            file(DOWNLOAD ${mirror}/pool/main/${path} ${archive}.part STATUS status)
            list(GET status 0 failed)
            if(NOT failed)
                file(SHA256 ${archive}.part found)
            endif()
            if(NOT failed AND found STREQUAL hash)
                file(ARCHIVE_EXTRACT INPUT ${archive}.part DESTINATION ${DSGD_LIBRARIES})
                file(RENAME ${archive}.part ${archive})
            endif()
        endif()
    endforeach()
    if(NOT EXISTS ${archive})
        message(FATAL_ERROR "${path} with SHA-256 ${hash} does not come from Debian's mirror (${status}); put it into ${DSGD_LIBRARIES} unpacked, with its archive")
    endif()
endforeach()

# dsgd_library(NAME FOLDER INCLUDES... SOURCES files): a static library of the files in FOLDER, as PkgConfig::NAME.
function(dsgd_library name folder)
    cmake_parse_arguments(PARSE_ARGV 2 its "" "" "SOURCES;PUBLIC;PRIVATE;DEFINITIONS")
    list(TRANSFORM its_SOURCES PREPEND ${DSGD_LIBRARIES}/${folder}/)
    list(TRANSFORM its_SOURCES APPEND .c)
    add_library(${name} STATIC ${its_SOURCES})
    target_compile_options(${name} PRIVATE -w -ffp-contract=off -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
    set_target_properties(${name} PROPERTIES C_EXTENSIONS ON)
    target_compile_definitions(${name} PRIVATE HAVE_CONFIG_H HAVE_UNISTD_H ${its_DEFINITIONS})
    target_include_directories(${name} SYSTEM PUBLIC ${its_PUBLIC} PRIVATE ${its_PRIVATE})
    add_library(PkgConfig::${name} ALIAS ${name})
endfunction()

set(from ${DSGD_LIBRARIES}/jansson-2.14)
set(json_inline inline)
foreach(have IN ITEMS long_long localeconv atomic_builtins sync_builtins)
    set(json_have_${have} 1)
endforeach()
configure_file(${from}/src/jansson_config.h.in ${made}/jansson/jansson_config.h @ONLY)
file(WRITE ${made}/jansson/jansson_private_config.h "#define HAVE_STDINT_H 1\n#define HAVE_LOCALECONV 1\n#define HAVE_ATOMIC_BUILTINS 1\n"
    "#define INITIAL_HASHTABLE_ORDER 3\n")
dsgd_library(jansson jansson-2.14 PUBLIC ${from}/src ${made}/jansson
    SOURCES src/dump src/error src/hashtable src/hashtable_seed src/load src/memory src/pack_unpack src/strbuffer src/strconv src/utf
        src/value src/version)

set(from ${DSGD_LIBRARIES}/libfyaml-0.7.12)
file(WRITE ${made}/fyaml/config.h "#define VERSION \"0.7.12\"\n#define HAVE_QSORT_R 1\n")
dsgd_library(fyaml libfyaml-0.7.12 PUBLIC ${from}/include PRIVATE ${made}/fyaml ${from}/src/xxhash ${from}/src/valgrind
    DEFINITIONS _GNU_SOURCE
    SOURCES src/lib/fy-accel src/lib/fy-atom src/lib/fy-composer src/lib/fy-ctype src/lib/fy-diag src/lib/fy-doc src/lib/fy-docbuilder
        src/lib/fy-docstate src/lib/fy-dump src/lib/fy-emit src/lib/fy-event src/lib/fy-input src/lib/fy-parse src/lib/fy-path
        src/lib/fy-token src/lib/fy-types src/lib/fy-utf8 src/lib/fy-utils src/lib/fy-walk src/xxhash/xxhash)

dsgd_library(zlib zlib-1.3.1 PUBLIC ${DSGD_LIBRARIES}/zlib-1.3.1
    SOURCES adler32 compress crc32 deflate gzclose gzlib gzread gzwrite inffast inflate inftrees trees uncompr zutil)

set(from ${DSGD_LIBRARIES}/libexpat-R_2_5_0/expat)
file(WRITE ${made}/expat/expat_config.h "#define XML_DEV_URANDOM 1\n#define XML_CONTEXT_BYTES 1024\n#define XML_DTD 1\n#define XML_NS 1\n")
dsgd_library(expat libexpat-R_2_5_0/expat PUBLIC ${from}/lib PRIVATE ${made}/expat SOURCES lib/xmlparse lib/xmlrole lib/xmltok)

set(from ${DSGD_LIBRARIES}/gsl-2.8)
file(MAKE_DIRECTORY ${made}/gsl/gsl)
file(GLOB headers ${from}/gsl_*.h ${from}/*/gsl_*.h)
foreach(header IN LISTS headers)
    cmake_path(GET header FILENAME name)
    file(CREATE_LINK ${header} ${made}/gsl/gsl/${name} SYMBOLIC)
endforeach()
file(WRITE ${made}/gsl/private/config.h "#define RELEASED 1\n#define HAVE_IEEE_COMPARISONS 1\n#define HAVE_DECL_FINITE 1\n"
    "#define HAVE_DECL_ISFINITE 1\n#define HAVE_DECL_ISINF 1\n#define HAVE_DECL_ISNAN 1\n#define GSL_COERCE_DBL(x) (x)\n"
    "#define RETURN_IF_NULL(x) if (!x) return\n")
dsgd_library(gsl gsl-2.8 PUBLIC ${made}/gsl PRIVATE ${made}/gsl/private ${from}
    SOURCES version cdf/beta cdf/betainv cdf/fdist cdf/fdistinv cdf/gamma cdf/gammainv cdf/gauss cdf/gaussinv cdf/tdist cdf/tdistinv
        err/error err/message err/stream err/strerror min/bracketing min/brent min/convergence min/fsolver min/golden
        min/quad_golden randist/beta randist/fdist randist/gamma randist/gauss randist/tdist sort/sort sort/sortind sort/sortvec sort/subset
        sort/sortvecind specfunc/beta specfunc/beta_inc specfunc/elementary specfunc/erfc specfunc/exp specfunc/expint
        specfunc/gamma specfunc/gamma_inc specfunc/log specfunc/pow_int specfunc/psi specfunc/trig specfunc/zeta
        statistics/covariance statistics/mean statistics/median statistics/minmax statistics/quantiles statistics/select
        statistics/variance
        sys/coerce sys/expm1 sys/fcmp sys/fdiv sys/hypot sys/infnan sys/ldfrexp sys/log1p sys/minmax sys/pow_int sys/prec)

# Only the headers of Random123, which do not know the machine.
set(from ${DSGD_LIBRARIES}/random123-1.14.0)
file(COPY ${from}/include/Random123 DESTINATION ${made}/random123)
set(features ${made}/random123/Random123/features/gccfeatures.h)
file(READ ${features} text)
string(REPLACE "!defined(__x86_64__) &&" "!defined(__wasm__) && !defined(__x86_64__) &&" text "${text}")
file(WRITE ${features} "${text}")
include_directories(SYSTEM ${made}/random123 ${PROJECT_SOURCE_DIR}/lab/host)

# What is only named in the manifest, or is for processes.
file(WRITE ${made}/none/gnu/libc-version.h "#define gnu_get_libc_version() \"musl\"\n")
file(WRITE ${made}/none/sys/prctl.h "#define prctl(...) 0\n#define PR_SET_PDEATHSIG 1\n")
find_file(queue sys/queue.h PATHS /usr/include/x86_64-linux-gnu /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED) # macros alone
file(COPY ${queue} DESTINATION ${made}/none/sys)
include_directories(SYSTEM ${made}/none)

# Whole, because the linker (LLD 19) takes a static function of an archive, such as read(), for what another file lacks.
set(CMAKE_C_LINK_EXECUTABLE "<CMAKE_C_COMPILER> <FLAGS> <CMAKE_C_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> \
-Wl,--whole-archive <LINK_LIBRARIES> -Wl,--no-whole-archive")
