/**
 * @file sanitizers.h The sanitizer that this code is compiled with: DSGD_ADDRESS_SANITIZER,
 * DSGD_THREAD_SANITIZER, or neither. GCC and clang report it in different ways.
 */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DSGD_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define DSGD_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define DSGD_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define DSGD_THREAD_SANITIZER
#endif
