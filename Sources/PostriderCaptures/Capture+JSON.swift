import FoundationEssentials
import PostriderJSON
import PostriderNotifications

extension Capture {
    /// The capture as one line of JSON (docs/reference/captures.md). The payload is copied byte for byte, except for
    /// the line breaks between its values; a body that is not a JSON object becomes base64.
    public var json: [UInt8] {
        var members: [String: JSONValue] = [
            "number": .integer(Int64(number)),
            "at": .integer(at.milliseconds),
            "environment": .string(environment.rawValue),
            "connection": connection.json,
            "stream": .integer(Int64(stream.number)),
            "headers": headers.json,
            "bodyBytes": .integer(Int64(bodyByteCount)),
            "id": .string(identity),
            "outcome": .string(outcome.rawValue),
            "events": .array(
                events.map { .object(["kind": .string($0.kind), "at": .integer($0.at.milliseconds)]) }),
        ]
        members["token"] = token.map(JSONValue.string)
        members["topic"] = header("apns-topic").map(JSONValue.string)
        members["pushType"] = header("apns-push-type").map(JSONValue.string)
        if stream.padding > 0 { members["padding"] = .integer(Int64(stream.padding)) }
        members["claims"] = claims?.json
        members["rule"] = rule?.json
        members["answer"] = answer?.json
        members["upstreamError"] = upstreamError.map(JSONValue.string)
        let isPayload = JSONSyntax.isObject(body.span)
        if !body.isEmpty, !isPayload { members["body"] = .string(Data(body).base64EncodedString()) }
        guard var output = JSONValue.object(members).bytes else {
            preconditionFailure("a capture has no number that JSON lacks")
        }
        guard isPayload else { return output }
        // The payload's line breaks can stand only between values, because they are escaped in texts.
        output.removeLast()
        output += #","payload":"#.utf8
        output += body.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
        output.append(UInt8(ascii: "}"))
        return output
    }

    /// The capture as a server-sent event (HTML, section 9.2) with its number.
    public var event: [UInt8] {
        Array("id: \(number)\nevent: capture\ndata: ".utf8) + json + Array("\n\n".utf8)
    }
}

extension Capture.Connection {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = ["number": .integer(Int64(number)), "peer": .string(peer)]
        members["alpn"] = alpn.map(JSONValue.string)
        members["tls"] = tls?.json
        members["certificate"] = certificate.map(JSONValue.string)
        members["certificateFingerprint"] = certificateFingerprint.map(JSONValue.string)
        return .object(members)
    }
}

extension Capture.TLS {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = ["version": .string(version), "cipher": .string(cipher)]
        members["serverName"] = serverName.map(JSONValue.string)
        return .object(members)
    }
}

extension Capture.Rule {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = ["number": .integer(Int64(number))]
        members["name"] = name.map(JSONValue.string)
        return .object(members)
    }
}

extension Capture.Answer {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "at": .integer(at.milliseconds), "status": .integer(Int64(status)),
        ]
        members["reason"] = reason.map(JSONValue.string)
        members["timestamp"] = timestamp.map(JSONValue.integer)
        members["retryAfter"] = retryAfter.map { .integer(Int64($0)) }
        if !headers.isEmpty { members["headers"] = headers.json }
        if !body.isEmpty { members["body"] = .string(String(decoding: body, as: UTF8.self)) }
        return .object(members)
    }
}

extension [Capture.Field] {
    fileprivate var json: JSONValue {
        .array(map { .object(["name": .string($0.name), "value": .string($0.value)]) })
    }
}

extension TokenClaims {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [:]
        members["alg"] = algorithm.map(JSONValue.string)
        members["kid"] = keyIdentifier.map(JSONValue.string)
        members["iss"] = issuer.map(JSONValue.string)
        members["iat"] = issuedAt.map(JSONValue.integer)
        return .object(members)
    }
}

extension CaptureRing {
    /// The answer to a query: `captures`, the number of the latest request, the number of dropped ones, and whether
    /// the awaited number was reached; or a line for each capture.
    public func json(_ query: CaptureQuery) -> [UInt8] {
        let found = captures(query.filter, last: query.last)
        if query.isLines { return Array(found.map { $0.json + [0x0A] }.joined()) }
        let isComplete = found.count { $0.outcome != .open } >= query.count
        var output = Array(
            #"{"last":\#(lastNumber),"dropped":\#(droppedCount),"isComplete":\#(isComplete),"captures":["#
                .utf8)
        for (index, capture) in found.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            output += capture.json
        }
        output += "]}".utf8
        return output
    }

    /// Whether as many matching requests as the query waits for exist and have an outcome.
    public func isComplete(_ query: CaptureQuery) -> Bool {
        captures(query.filter, last: query.last).count { $0.outcome != .open } >= query.count
    }
}
