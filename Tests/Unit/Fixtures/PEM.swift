import FoundationEssentials

/// The bytes of the first certificate in a text.
package func der(ofPEM text: String) -> [UInt8]? {
    let lines = text.split(separator: "\n").drop { !$0.hasPrefix("-----BEGIN CERTIFICATE") }.dropFirst()
    return Data(base64Encoded: lines.prefix { !$0.hasPrefix("-----END") }.joined()).map(Array.init)
}
