// OpenSSL's libcrypto, and one-line shims for the macros and variadic calls that the Clang importer cannot see.
#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline EVP_PKEY *CCrypto_generate_RSA(unsigned int bits)
{
    return EVP_RSA_gen(bits);
}

static inline EVP_PKEY *CCrypto_generate_P256(void)
{
    return EVP_EC_gen("P-256");
}
