import CPostriderNghttp2

// How a session learns that it is over, and what it says then.
extension HTTP2Connection {
    /// Looks at a frame that has been sent, from `start` on.
    func note(_ output: inout [UInt8], sent start: Int) {
        switch UInt32(output[start + 3]) {
        case NGHTTP2_HEADERS.rawValue where nextTail < tails.count: addTail(&output, sent: start)
        case NGHTTP2_GOAWAY.rawValue where output.count >= start + 17: noteGoaway(&output, start)
        case NGHTTP2_RST_STREAM.rawValue where failure == nil && !resets.cut():
            fail(.tooManyResets)
        default: break
        }
    }

    /// The library ends connections by itself, and the GOAWAY it sends is the only sign of it (RFC 9113,
    /// section 6.8). It names a stream whose head has only begun, as if it had been served.
    private func noteGoaway(_ output: inout [UInt8], _ start: Int) {
        let named = output.span.bigEndianWord(at: start + 9)
        if let shutdown, named == Shutdown.allStreams {
            // The library's notice comes without words.
            output += shutdown.debug
            return output.endFrame(from: start)
        }
        if role == .server, named > UInt32(lastStream) {
            for byte in 0..<4 {
                output[start + 9 + byte] = UInt8(truncatingIfNeeded: lastStream >> Int32(24 - 8 * byte))
            }
        }
        let errorCode = output.span.bigEndianWord(at: start + 13)
        guard failure == nil, errorCode != ErrorCode.noError, errorCode != saidErrorCode else { return }
        let reason = String(decoding: output[(start + 17)...], as: UTF8.self)
        failure = .protocolViolation(errorCode: errorCode, reason: reason)
    }

    /// Ends the session with a GOAWAY that says why: in the error's words, if there are no better ones.
    func fail(_ error: SessionError, saying debug: String? = nil) {
        failure = error
        let (code, reason) =
            switch error {
            case .notHTTP2: (ErrorCode.protocolError, error.description)
            case .protocolViolation(let errorCode, let reason): (errorCode, reason)
            default: (ErrorCode.enhanceYourCalm, error.description)
            }
        goaway(errorCode: code, debug: Array((debug ?? reason).utf8))
        _ = sayFarewell()
    }

    /// What Apple's front says to a client that speaks HTTP/1; everybody else learns what was expected.
    static func describeForeigner(_ bytes: Span<UInt8>) -> String {
        let line = unsafe bytes.withUnsafeBufferPointer { all in
            unsafe all.prefix(120).prefix { (0x20..<0x7F).contains($0) }.map { $0 }
        }
        let text = String(decoding: line, as: UTF8.self)
        return text.contains(" HTTP/1.")
            ? "Unexpected HTTP/1.x request: \(text)" : SessionError.notHTTP2.description
    }

    static func error(_ number: Int32) -> SessionError {
        switch number {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: .notHTTP2
        case NGHTTP2_ERR_FLOODED.rawValue, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue: .flooded
        default: .libraryFailure(number)
        }
    }
}
