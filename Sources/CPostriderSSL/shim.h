// OpenSSL's libssl, and one-line shims for the macros and variadic calls that the Clang importer cannot see.
#pragma once
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static const uint64_t CSSL_OP_NO_TICKET = SSL_OP_NO_TICKET;
static const uint64_t CSSL_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t CSSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t CSSL_OP_IGNORE_UNEXPECTED_EOF = SSL_OP_IGNORE_UNEXPECTED_EOF;

static inline int CSSL_CTX_set_min_proto_version(SSL_CTX *context, int version)
{
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline void CSSL_CTX_set_read_ahead(SSL_CTX *context, int isOn)
{
    SSL_CTX_set_read_ahead(context, isOn);
}

static inline void CSSL_set_read_ahead(SSL *ssl, int isOn)
{
    SSL_set_read_ahead(ssl, isOn);
}

static inline void CSSL_CTX_set_mode(SSL_CTX *context, long mode)
{
    SSL_CTX_set_mode(context, mode);
}

static inline void CSSL_CTX_disable_session_cache(SSL_CTX *context)
{
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline int CSSL_CTX_set1_groups_list(SSL_CTX *context, const char *groups)
{
    return (int)SSL_CTX_set1_groups_list(context, groups);
}

static inline int CSSL_CTX_set1_sigalgs_list(SSL_CTX *context, const char *algorithms)
{
    return (int)SSL_CTX_set1_sigalgs_list(context, algorithms);
}

static inline int CSSL_set_tlsext_host_name(SSL *ssl, const char *name)
{
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

static inline OPENSSL_STACK *CSSL_CTX_get0_chain_certs(SSL_CTX *context)
{
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(context, &chain);
    return (OPENSSL_STACK *)chain;
}
