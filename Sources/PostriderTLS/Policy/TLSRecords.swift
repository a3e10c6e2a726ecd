/// The record layer of a server's TLS 1.3 connections after the handshake: the setting `tls-records`.
///
/// TLS 1.2 and clients always use OpenSSL's record layer.
public enum TLSRecords: String, Sendable, CaseIterable {
    /// ``RecordLayer`` with OpenSSL's ciphers, which saves 13 KiB per connection.
    case own
    /// OpenSSL's record layer.
    case openssl
}
