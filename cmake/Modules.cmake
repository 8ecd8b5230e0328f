# add_module(name SOURCES ... USES ... PRIVATE_USES ...)
#
# A static library with a public include/ and a private src/. A module sees the headers of what it USES and of
# nothing else, so that an include against the dependency arrows does not compile.
function(add_module name)
    cmake_parse_arguments(ARG "" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC include PRIVATE src)
    target_link_libraries(${name} PUBLIC ${ARG_USES} PRIVATE project_options ${ARG_PRIVATE_USES})
endfunction()

# add_unit_tests(module [USES ...] [LABELS ...])
#
# One test binary per module, of all sources in the caller's folder; it links that module and nothing above it. Its ctest name
# is unit.<module>.
function(add_unit_tests module)
    cmake_parse_arguments(ARG "" "" "LABELS;USES" ${ARGN})
    set(target ${module}_tests)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
    add_executable(${target} ${sources})
    target_link_libraries(${target} PRIVATE ${module} ${ARG_USES} test_support project_options Catch2::Catch2WithMain)
    target_compile_definitions(${target} PRIVATE
        CATCH_CONFIG_ENABLE_ALL_STRINGMAKERS SIGNALBOX_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
    add_test(NAME unit.${module} COMMAND ${target})
    set_tests_properties(unit.${module} PROPERTIES LABELS "unit;${ARG_LABELS}" TIMEOUT 300)
    if("async" IN_LIST ARG_LABELS)
        add_dependencies(async_tests ${target})
    endif()
endfunction()

# The unit tests with the label async: what is built and run under ThreadSanitizer.
add_custom_target(async_tests)

# add_pytest(name file.py [LABELS ...])
#
# A Python test of the built programs, which it finds in SIGNALBOX_BIN_DIR. EXCEPT: folders below it that are tests of their own.
function(add_pytest name file)
    cmake_parse_arguments(ARG "WITH_CLIENTS" "" "LABELS;EXCEPT" ${ARGN})
    list(TRANSFORM ARG_EXCEPT PREPEND --ignore=${CMAKE_CURRENT_SOURCE_DIR}/)
    set(python /usr/bin/python3)
    if(ARG_WITH_CLIENTS)
        set(python ${PROJECT_SOURCE_DIR}/scripts/lib/client-python)
    endif()
    add_test(NAME ${name}
        COMMAND ${python} -m pytest -q -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${ARG_EXCEPT}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${ARG_LABELS}" ENVIRONMENT
        "PYTHONDONTWRITEBYTECODE=1;SIGNALBOX_BIN_DIR=${PROJECT_BINARY_DIR}/bin")
endfunction()
