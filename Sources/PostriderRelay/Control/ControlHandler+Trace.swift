import PostriderCluster
import PostriderNotifications

/// The operator's questions to the trace (docs/operate/trace.md).
extension ControlHandler {
    /// `GET /v1/trace?id=…&device=…&topic=…&last=…`, or `?follow` and `?follow=CURSOR`: of all nodes of a cluster.
    func trace(_ query: Substring, _ respond: @escaping Respond) {
        guard queries.nodes.cluster != nil else { return ownTrace(query, respond) }
        do throws(QueryError) {
            let question = try question(query)
            queries.nodes.askAll(.trace(query: String(query))) { [queries] answers in
                if let refusal = answers.refusal { return respond(refusal) }
                if case .search(_, let last) = question {
                    queries.nodes.findLives(in: answers, last: last) { respond(Self.answer($0, gap: $1)) }
                } else {
                    respond(Self.merge(answers, after: query))
                }
            }
        } catch {
            respond(Self.refusal(400, error.sentence))
        }
    }

    private static func merge(_ answers: NodeAnswers, after query: Substring) -> Answer {
        let read = answers.read(as: Control.TraceFeed.self)
        let parts = read.named.map { ($0.node.text, $0.value) }
        // A node that has not answered goes on where it was.
        var cursor = TraceCursor(String(query.drop { $0 != "=" }.dropFirst()))
        for (node, feed) in parts { cursor.positions[node] = feed.cursor }
        return answer(Control.TraceFeed(ofNodes: parts, cursor: cursor), gap: read.gap)
    }

    /// Asks the trace of this relay alone.
    func ownTrace(_ query: Substring, _ respond: @escaping Respond) {
        do throws(QueryError) {
            ownTrace(try question(query), respond)
        } catch {
            respond(Self.refusal(400, error.sentence))
        }
    }

    func ownTrace(_ question: TraceQuestion, _ respond: @escaping Respond) {
        guard context.trace.missing != nil else {
            return respond(Self.refusal(404, "This relay keeps no trace: set 'trace' to true."))
        }
        context.trace.ask(question) { respond(Self.answer($0)) }
    }

    /// The trace's answer as an HTTP answer.
    static func answer(_ answer: TraceAnswer) -> Answer {
        switch answer {
        case .pushes(let pushes): Self.answer(pushes)
        case .events(let events): Self.answer(events)
        case .feed(let feed): Self.answer(feed)
        case .progress(let state): Self.answer(state)
        case .failed(let sentence): refusal(503, sentence)
        }
    }

    private struct QueryError: Error {
        let sentence: String
    }

    private func question(_ query: Substring) throws(QueryError) -> TraceQuestion {
        var filter = TraceFilter()
        var last = 50
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            let value = pair.count == 2 ? pair[1] : ""
            switch pair.first {
            case "refused" where value.isEmpty: filter.isAboutRefusals = true
            case "follow" where value.isEmpty: return .feed(after: nil)
            case "follow":
                guard let node = queries.nodes.cluster?.name else {
                    return .feed(after: try Self.position(value))
                }
                // A node that was not there when the cursor was given begins now.
                let position = TraceCursor(value).positions[node.text]
                return .feed(after: try position.map { (text) throws(QueryError) in try Self.position(text) })
            case "id":
                filter.identity = NotificationIdentity(value)
                guard filter.identity != nil else {
                    throw QueryError(sentence: "An apns-id is a UUID of 36 characters, not '\(value)'.")
                }
            case "device":
                filter.device = DeviceIdentity(hex: value)
                guard filter.device != nil else {
                    throw QueryError(sentence: "A device identity has 24 hexadecimal digits.")
                }
            case "topic":
                filter.topic = Topic(value)
                guard filter.topic != nil else {
                    throw QueryError(sentence: "A topic is a bundle identifier, not '\(value)'.")
                }
            case "last":
                guard let number = Int(value), 1...Limits.tracedPushes ~= number else {
                    throw QueryError(sentence: "'last' is a number from 1 to \(Limits.tracedPushes).")
                }
                last = number
            default:
                throw QueryError(
                    sentence: "The trace is asked with id, device, topic, last and refused, or with follow.")
            }
        }
        return .search(filter, last: last)
    }

    private static func position(_ cursor: String) throws(QueryError) -> TracePosition {
        let numbers = cursor.split(separator: ":").compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] >= 0, numbers[1] >= 0 else {
            throw QueryError(sentence: "A cursor is what the last answer gave, not '\(cursor)'.")
        }
        return TracePosition(segment: numbers[0], offset: numbers[1])
    }
}
