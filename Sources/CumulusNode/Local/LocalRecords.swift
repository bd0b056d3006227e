// The calls on records for callers in this process: look-ups and queries go in as values, and
// records come out as clients know them.
//
// The doors of CumulusGateway call it. `RecordCalls` and `QueryCalls` answer, as they answer calls
// in frames. A record's fields lie in the store in the form in which they are sent, and the task
// that wants them decodes them once.

package import CumulusModel
import CumulusOperations
package import CumulusWire

/// A page of a query, as a caller in this process gets it.
package struct FoundRecords: Sendable {
    package let records: [Record]
    /// Empty means that there are no more.
    package let cursor: Bytes
    package let count: UInt64
    /// nil means not wanted.
    package let work: QueryRecordsResponse.Work?
}

/// What became of each save and deletion of a caller in this process.
package struct ModifiedRecords: Sendable {
    package let saves: [RecordResult]
    /// nil means deleted, or not there.
    package let deletes: [ServiceError?]
}

extension LocalConnection {
    /// Reads records by their ids; each has a result.
    package func fetch(
        _ header: CallHeader,
        _ message: FetchRecordsRequest
    ) async throws(ServiceError) -> [RecordResult] {
        let sink = ValueSink<RecordCalls.Fetched> { fetched in
            fetched.results.reduce(0) { $0 + ((try? $1.get())?.fields.count ?? 0) + 200 }
        }
        let urls = node.shareURLs
        return try await call(header, byteCount: message.size, sink) { context in
            let request = try context.parser.fetchRecords(message)
            try context.answer(RecordCalls.fetch(request, context), .values(sink))
        }.flatMap { fetched in
            zip(fetched.results, fetched.ids).map { result, id in
                result.flatMap { Record.told($0, in: (try? id.get())?.zone, urls) }
            }
        }
    }

    /// Reads a page of a query.
    package func query(
        _ header: CallHeader,
        _ message: QueryRecordsRequest
    ) async throws(ServiceError) -> FoundRecords {
        let sink = ValueSink<QueryCalls.Found> { found in
            found.page.records.reduce(0) { $0 + $1.record.fields.count + 200 }
        }
        let size = message.encoded().count
        let found = try await call(header, byteCount: size, sink) { context in
            guard let reading = try QueryCalls.query(message, context) else { return }
            try context.answer(reading, .values(sink))
        }
        guard let found = found.first else { throw LocalConnection.answerMissing }
        let urls = node.shareURLs
        var records: [Record] = []
        for place in found.page.records {
            records.append(try Record.told(place.record, in: place.zone, urls).get())
        }
        return FoundRecords(
            records: records,
            cursor: found.page.next.map(node.mint.make) ?? [],
            count: found.page.count,
            work: found.explains ? Answers.work(of: found.page) : nil
        )
    }

    /// What became of a request's items; the request itself is let go.
    private struct Modified {
        let saves: [(result: Result<RecordView, ModifyOutcome.Failure>, zone: ZoneAddress)]
        let deletes: [ServiceError?]

        init(_ outcome: ModifyOutcome, of request: ModifyRecords) {
            saves = zip(outcome.saves, request.saves).map { item, save in
                (item.map { Answers.view($0, of: save) }, save.address.zone)
            }
            deletes = outcome.deletes.map { item in
                if case .failure(let failure) = item { failure.error } else { nil }
            }
        }
    }

    /// Saves and deletes records, under a request id of its own.
    ///
    /// - Parameter overReadable: Whether it saves over what is there, whatever its tag, as far as
    ///   the caller may read it; the message's policy does not count then.
    package func modify(
        _ header: CallHeader,
        _ message: Bytes,
        overReadable: Bool = false
    ) async throws(ServiceError) -> ModifiedRecords {
        let sink = ValueSink<Modified>()
        let urls = node.shareURLs
        let size = message.count
        let answers = try await call(naming(header), message, byteCount: size, sink) { context in
            try RecordCalls.admit(context)
            try context.parsing(RequestParser.modifyRecords) { request in
                var request = request
                if overReadable { request.policy = .overReadable }
                let asked = request
                try context.write(try RecordCalls.modify(asked, context)) { outcome in
                    RecordCalls.note(outcome, of: asked, context)
                    sink.put(Modified(outcome, of: asked))
                    return []
                }
            }
        }
        guard let answer = answers.first else { throw LocalConnection.answerMissing }
        return ModifiedRecords(
            saves: answer.saves.map { save in
                switch save.result {
                case .success(let view): Record.told(view, in: save.zone, urls)
                case .failure(let failure): .failure(failure.told(in: save.zone, urls))
                }
            },
            deletes: answer.deletes
        )
    }

    private static let answerMissing = ServiceError(
        .internalError,
        "the node's answer lacks a result"
    )
}

extension FetchRecordsRequest {
    /// About what it takes in a message.
    fileprivate var size: Int {
        let zones = ids.reduce(0) { $0 + ($1.zone.map { $0.name.count + $0.owner.count } ?? 0) }
        let keys = (keys ?? []).reduce(0) { $0 + $1.count + 4 }
        return ids.reduce(32) { $0 + $1.name.count + 16 } + zones + keys
    }
}

extension Record {
    /// A record in the form in which a client gets it.
    fileprivate static func told(
        _ view: RecordView,
        in zone: ZoneAddress?,
        _ urls: ShareURLs
    ) -> RecordResult {
        do throws(MalformedMessage) {
            let id = Answers.wireID(view.name, zone)
            return .success(try Record(view, id: id, url: urls.url(of: view)))
        } catch {
            return .failure(ServiceError(.internalError, .corrupt, error.message))
        }
    }
}

extension ModifyOutcome.Failure {
    /// The error in the form in which a client gets it, with the record as it stands.
    fileprivate func told(in zone: ZoneAddress, _ urls: ShareURLs) -> ServiceError {
        var error = error
        error.serverRecord = serverRecord.flatMap { try? Record.told($0, in: zone, urls).get() }
        return error
    }
}
