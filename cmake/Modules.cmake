# add_module(name [SOURCES ...] [USES ...] [PRIVATE_USES ...] [PRECOMPILED headers])
#
# A static library of all sources below its private src/, and of generated SOURCES, with a public include/. Its include path has only
# the headers of the modules in USES, so that an include against the dependency arrows does not compile.
function(add_module name)
    cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;USES;PRIVATE_USES" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/*.cpp)
    add_library(${name} STATIC ${sources} ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC include PRIVATE src)
    target_link_libraries(${name} PUBLIC ${ARG_USES} PRIVATE project_options ${ARG_PRIVATE_USES})
    if(NOT ARG_PRECOMPILED)
        set(ARG_PRECOMPILED std)
    endif()
    share_precompiled(${name} ${ARG_PRECOMPILED})
endfunction()

# add_program(name app USES ...)
#
# The program `name` of an apps/ folder: main.cpp, and all its other sources as the library `app`, which unit tests link.
function(add_program name app)
    cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/*.cpp)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/src/main.cpp)
    add_library(${app} STATIC ${sources})
    target_include_directories(${app} PUBLIC src)
    target_link_libraries(${app} PUBLIC ${ARG_USES} Boost::headers PRIVATE project_options)
    share_precompiled(${app} asio)
    add_executable(${name} src/main.cpp)
    target_compile_definitions(${name} PRIVATE SIGNALBOX_VERSION="${PROJECT_VERSION}")
    target_link_libraries(${name} PRIVATE ${app} project_options)
    if(SIGNALBOX_NEAR_STATIC)
        # Names the archives whose code is in the program: scripts/lib/bill_of_materials.py reads it.
        target_link_options(${name} PRIVATE LINKER:-Map=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}.map)
    endif()
endfunction()

# describe_test(name PART... [NEEDS preset/target|control-plane|kueue|coscheduling|real-nodes ...] [MINUTES n])
#
# Sets the labels that scripts/test reads: the part that the test belongs to, "needs:dev/api_tests" for targets to build first,
# and "minutes:2.5" for its budget on two idle cores, beyond which scripts/test warns.
function(describe_test name)
    cmake_parse_arguments(ARG "" "MINUTES" "NEEDS" ${ARGN})
    set(labels ${ARG_UNPARSED_ARGUMENTS})
    foreach(need ${ARG_NEEDS})
        list(APPEND labels "needs:${need}")
    endforeach()
    if(ARG_MINUTES)
        list(APPEND labels "minutes:${ARG_MINUTES}")
        # The longest tests start first. The timeout is for a test that hangs, on any machine.
        set_tests_properties(${name} PROPERTIES COST ${ARG_MINUTES} TIMEOUT 1800)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}")
endfunction()

# add_unit_tests(module [USES ...] [PRECOMPILED headers])
#
# One test binary per module, from all sources in the caller's folder. It links that module and nothing above it. Its ctest
# name is unit.<module>.
function(add_unit_tests module)
    cmake_parse_arguments(ARG "" "PRECOMPILED" "USES" ${ARGN})
    if(NOT ARG_PRECOMPILED)
        set(ARG_PRECOMPILED catch2)
    endif()
    set(target ${module}_tests)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
    add_executable(${target} ${sources})
    target_link_libraries(${target} PRIVATE ${module} ${ARG_USES} test_support project_options Catch2::Catch2WithMain)
    share_precompiled(${target} ${ARG_PRECOMPILED})
    # Names the tests that take a second and more.
    add_test(NAME unit.${module} COMMAND ${target} --min-duration 1)
    set_tests_properties(unit.${module} PROPERTIES TIMEOUT 300)
    describe_test(unit.${module} unit NEEDS dev/${target})
endfunction()

# add_pytest(name path [RELEASE] [WITH_CLIENTS] [LABELS ...] [NEEDS ...] [EXCEPT folder] [MINUTES n])
#
# Python tests of the built programs, in SIGNALBOX_BIN_DIR: this preset's, or with RELEASE the shipped ones. WITH_CLIENTS: run by
# the Python with Kubeflow's SDK. EXCEPT: a folder below the path that is a test of its own.
function(add_pytest name path)
    cmake_parse_arguments(ARG "WITH_CLIENTS;RELEASE" "MINUTES" "LABELS;NEEDS;EXCEPT" ${ARGN})
    list(TRANSFORM ARG_EXCEPT PREPEND --ignore=${CMAKE_CURRENT_SOURCE_DIR}/)
    set(python /usr/bin/python3)
    if(ARG_WITH_CLIENTS)
        set(python ${PROJECT_SOURCE_DIR}/scripts/lib/client-python)
    endif()
    set(programs ${PROJECT_BINARY_DIR}/bin)
    if(ARG_RELEASE)
        set(programs ${PROJECT_SOURCE_DIR}/build/release/bin)
    endif()
    add_test(NAME ${name}
        COMMAND ${python} -m pytest -q -p no:cacheprovider --durations=25 --durations-min=1 ${CMAKE_CURRENT_SOURCE_DIR}/${path} ${ARG_EXCEPT}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;SIGNALBOX_BIN_DIR=${programs}")
    describe_test(${name} ${ARG_LABELS} NEEDS ${ARG_NEEDS} MINUTES ${ARG_MINUTES})
endfunction()
