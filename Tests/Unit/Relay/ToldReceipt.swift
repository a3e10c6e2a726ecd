import Foundation
import Testing

/// A receipt of Web Push as its sender reads it.
struct ToldReceipt: Equatable {
    let message: String
    let status: Int
    let receipt: String

    /// The receipts in the body of an answer.
    static func all(in body: [UInt8]) -> [ToldReceipt]? {
        let members = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: [[String: Any]]]
        return members?["receipts"]?.compactMap { one in
            guard let message = one["message"] as? String, let status = one["status"] as? Int,
                let receipt = one["receipt"] as? String
            else { return nil }
            return ToldReceipt(message: message, status: status, receipt: receipt)
        }
    }

    /// The receipts in an answer.
    static func all(in line: WebClientConnection) throws -> [ToldReceipt] {
        let body = try #require(line.text.split(separator: "\r\n\r\n").dropFirst().first)
        return try #require(all(in: Array(body.utf8)))
    }
}
