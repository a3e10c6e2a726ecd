internal import CPostriderSSL

/// The names of alerts in RFC 8446, section 6, and in IANA's registry "TLS Alerts".
enum TLSAlert {
    /// The standard name, such as `bad_record_mac`; "alert 201" if the number has none.
    static func name(of number: UInt8) -> String {
        // OpenSSL 3.0 has no names for these.
        switch number {
        case 86: return "inappropriate_fallback"
        case 109: return "missing_extension"
        case 116: return "certificate_required"
        default: break
        }
        let name = unsafe String(cString: SSL_alert_desc_string_long(CInt(number)))
        guard name != "unknown" else { return "alert \(number)" }
        return name.lowercased().split(separator: " ").joined(separator: "_")
    }
}
