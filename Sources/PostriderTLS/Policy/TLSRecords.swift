/// Who protects the records of a server's TLS 1.3 connections behind the handshake: the setting `tls-records`.
///
/// TLS 1.2 and clients use OpenSSL's record layer in any case.
public enum TLSRecords: String, Sendable, CaseIterable {
    /// ``RecordLayer``, with OpenSSL's ciphers: 13 KiB less for each connection.
    case own
    /// OpenSSL's record layer.
    case openssl
}
