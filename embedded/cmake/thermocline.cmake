# The library for C, for build systems that know the processor: Zephyr and ESP-IDF. Others use find_package(thermocline).
#
#   thermocline_target(RESULT CARGO|ARCHIVE)    Rust's name of the target, by the CONFIG_ variables of Kconfig
#   thermocline_from_archive(FOLDER TARGET)     from the archive that `make dist-c` makes, unpacked
#   thermocline_by_cargo(TARGET)                built by the target thermocline_cargo, which its users depend on
#
# The last two set THERMOCLINE_LIBRARY and THERMOCLINE_INCLUDE.
get_filename_component(THERMOCLINE_ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)

# The archive has fewer targets: code for a Cortex-M3 runs on an M4, an M7 and an M33 where floats are passed in integer registers, and
# that for RV32IMAC without its A, of which the library has no instruction.
function(thermocline_target result from)
  if(DEFINED THERMOCLINE_TARGET)
    set(${result} ${THERMOCLINE_TARGET} PARENT_SCOPE)
    return()
  endif()
  set(target)
  if(CONFIG_IDF_TARGET_ARCH_XTENSA)
    message(FATAL_ERROR "Thermocline: Rust has no compiler for Xtensa in its releases. Build the library with one that has, name its folder by the Kconfig option of the archive, and set THERMOCLINE_TARGET to its folder in lib/.")
  elseif(CONFIG_IDF_TARGET_ARCH_RISCV AND NOT CONFIG_SOC_CPU_HAS_FPU)
    set(target riscv32imac-unknown-none-elf)
    if(CONFIG_IDF_TARGET_ESP32C2 OR CONFIG_IDF_TARGET_ESP32C3)
      # No atomic instructions.
      set(target riscv32imc-unknown-none-elf)
    endif()
  elseif(CONFIG_IDF_TARGET_ARCH_RISCV)
    set(target riscv32imafc-unknown-none-elf)
  elseif(CONFIG_CPU_CORTEX_M0 OR CONFIG_CPU_CORTEX_M0PLUS OR CONFIG_CPU_CORTEX_M1)
    set(target thumbv6m-none-eabi)
  elseif(CONFIG_CPU_CORTEX_M3)
    set(target thumbv7m-none-eabi)
  elseif(CONFIG_CPU_CORTEX_M4 OR CONFIG_CPU_CORTEX_M7)
    if(CONFIG_FP_HARDABI)
      set(target thumbv7em-none-eabihf)
    else()
      set(target thumbv7em-none-eabi)
    endif()
  elseif(CONFIG_ARMV8_M_MAINLINE)
    if(CONFIG_FP_HARDABI)
      set(target thumbv8m.main-none-eabihf)
    else()
      set(target thumbv8m.main-none-eabi)
    endif()
  elseif(CONFIG_RISCV AND NOT CONFIG_64BIT AND NOT CONFIG_FPU AND CONFIG_RISCV_ISA_EXT_A AND CONFIG_RISCV_ISA_EXT_M AND CONFIG_RISCV_ISA_EXT_C)
    set(target riscv32imac-unknown-none-elf)
  elseif(CONFIG_ARCH_POSIX AND CONFIG_64BIT)
    set(target ${CMAKE_HOST_SYSTEM_PROCESSOR}-unknown-linux-gnu)
  endif()
  if(from STREQUAL ARCHIVE AND target MATCHES "^thumb(v7em|v8m.main)-none-eabi$")
    set(target thumbv7m-none-eabi)
  elseif(from STREQUAL ARCHIVE AND target STREQUAL riscv32imc-unknown-none-elf)
    set(target riscv32imac-unknown-none-elf)
  endif()
  if(NOT target)
    message(FATAL_ERROR "Thermocline: no target is known for this processor: set THERMOCLINE_TARGET to Rust's name of it")
  endif()
  set(${result} ${target} PARENT_SCOPE)
endfunction()

function(thermocline_from_archive folder target)
  set(library ${folder}/lib/${target}/libthermocline.a)
  if(NOT EXISTS ${library})
    message(FATAL_ERROR "Thermocline: ${library} is not there: the folder of the archive is a Kconfig option, its targets are those of lib/")
  endif()
  set(THERMOCLINE_LIBRARY ${library} PARENT_SCOPE)
  set(THERMOCLINE_INCLUDE ${folder}/include PARENT_SCOPE)
endfunction()

function(thermocline_by_cargo target)
  find_program(THERMOCLINE_CARGO_PROGRAM cargo HINTS $ENV{HOME}/.cargo/bin)
  if(NOT THERMOCLINE_CARGO_PROGRAM)
    message(FATAL_ERROR "Thermocline: no cargo. Install Rust, or use the archive (a Kconfig option), which needs none")
  endif()
  set(features --no-default-features)
  set(panic -- -C panic=abort)
  if(target MATCHES "linux")
    set(features)
    set(panic)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/cargo)
  set(library ${folder}/${target}/release/libthermocline_c.a)
  # Cargo knows what changed.
  add_custom_target(thermocline_cargo
    COMMAND ${THERMOCLINE_CARGO_PROGRAM} rustc --quiet --locked --release --package thermocline-embedded-c ${features}
      --config "profile.release.opt-level=\"s\"" --target ${target} --target-dir ${folder} --crate-type staticlib ${panic}
    WORKING_DIRECTORY ${THERMOCLINE_ROOT}
    BYPRODUCTS ${library}
    COMMENT "Thermocline for ${target}"
    VERBATIM)
  set(THERMOCLINE_LIBRARY ${library} PARENT_SCOPE)
  set(THERMOCLINE_INCLUDE ${THERMOCLINE_ROOT}/crates/embedded-c/include PARENT_SCOPE)
endfunction()
