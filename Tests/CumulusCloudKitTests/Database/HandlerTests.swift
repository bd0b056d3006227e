// Databases with handlers, a real socket and a node in memory.

import CumulusCloudKit
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct HandlerTests {
    @Test func handlersGetWhatCallsGive() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                let note = record("Note", "n", ["title": "one"])
                let (saved, error) = await withCheckedContinuation { done in
                    database.save(note) { done.resume(returning: ($0, $1)) }
                }
                #expect(saved === note && error == nil)
                let fetched = await withCheckedContinuation { done in
                    database.fetch(withRecordID: note.recordID) { record, _ in
                        done.resume(returning: record)
                    }
                }
                #expect(fetched?["title"] as? String == "one")
                let several = await withCheckedContinuation { done in
                    database.fetch(withRecordIDs: [note.recordID]) { done.resume(returning: $0) }
                }
                #expect(try several.get()[note.recordID]?.get()["title"] as? String == "one")
                let query = CKQuery(
                    recordType: "Note",
                    predicate: NSPredicate(format: "title == %@", "one")
                )
                let found = await withCheckedContinuation { done in
                    database.perform(query, inZoneWith: nil) { records, _ in
                        done.resume(returning: records)
                    }
                }
                #expect(found?.map(\.recordID) == [note.recordID])
                let page = await withCheckedContinuation { done in
                    database.fetch(withQuery: query) { done.resume(returning: $0) }
                }
                #expect(try page.get().matchResults.count == 1)
                let deleted = await withCheckedContinuation { done in
                    database.delete(withRecordID: note.recordID) { id, _ in
                        done.resume(returning: id)
                    }
                }
                #expect(deleted == note.recordID)
                let gone = await withCheckedContinuation { done in
                    database.fetch(withRecordID: note.recordID) { _, error in
                        done.resume(returning: error)
                    }
                }
                #expect((gone as? CKError)?.code == .unknownItem)
                let user = await withCheckedContinuation { done in
                    container.fetchUserRecordID { id, _ in done.resume(returning: id) }
                }
                let known = try await container.userRecordID()
                #expect(user == known)
                let status = await withCheckedContinuation { done in
                    container.accountStatus { status, _ in done.resume(returning: status) }
                }
                #expect(status == .available)
            }
        }
    }

    @Test func aConfigurationBoundsACall() async throws {
        // A socket that accepts and never answers would do; an address without a listener is
        // retried for as long as a call may take.
        var connection = CumulusConnection(endpoints: ["127.0.0.1:9"])
        connection.accessToken = "t"
        let container = CKContainer(identifier: "iCloud.x", connection: connection)
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 0.2
        let error = await failure {
            try await container.privateCloudDatabase.configuredWith(configuration: configuration) {
                try await $0.record(for: CKRecord.ID(recordName: "n"))
            }
        }
        #expect(error?.code == .networkFailure)
        await container.close()
    }
}
