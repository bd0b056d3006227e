// The apps run as they stand, with nothing but their settings on a node in this process.
//
// Compiled in Swift's language mode 5, as the apps are. The process's connection is theirs alone:
// other tests give their containers connections of their own.

import CloudKit
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(5))) struct AppsTests {
    private static let system = """
        "___recordID" REFERENCE QUERYABLE,
        "___createTime" TIMESTAMP QUERYABLE SORTABLE,
        "___createdBy" REFERENCE QUERYABLE,
        GRANT WRITE TO "_creator",
        GRANT CREATE TO "_icloud",
        GRANT READ TO "_world"
        """
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Photo (
                title STRING QUERYABLE SORTABLE, image ASSET, place LOCATION QUERYABLE,
                date TIMESTAMP QUERYABLE SORTABLE, \(system)
            );
            RECORD TYPE Post (caption STRING, commentCount INT64, \(system));
            RECORD TYPE Comment (text STRING, post REFERENCE QUERYABLE, \(system));
            RECORD TYPE Entry (text STRING, \(system));
            RECORD TYPE Restaurant (name STRING, type STRING, image ASSET, \(system));
        """

    /// Runs a test as a signed-in user whose app has a file and its settings.
    private func asUser(_ body: (URL) async throws -> Void) async throws {
        try await onServer { file, _ in try await body(file) }
    }

    /// The same for a test that has more users.
    private func onServer(_ body: (URL, TestServer) async throws -> Void) async throws {
        let folder = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "image")
        try Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* $0) }).write(to: file)
        let server = try await TestServer()
        try await server.importSchema(Self.schema)
        var connection = CumulusConnection(
            endpoints: [server.endpoint],
            containerIdentifier: TestServer.container,
            accessToken: try await server.makeUser("ada")
        )
        connection.assetDirectory = folder.appending(path: "cache").path
        CKContainer.connection = connection
        let result: Result<Void, Error>
        do {
            result = .success(try await body(file, server))
        } catch {
            result = .failure(error)
        }
        await CKContainer.default().close()
        try await server.stop()
        try result.get()
    }

    /// Waits for what a handler gets.
    private func value<Value>(_ body: (@escaping (Value) -> Void) -> Void) async -> Value {
        await withCheckedContinuation { done in body { done.resume(returning: $0) } }
    }

    @Test func photos() async throws {
        try await asUser { file in
            let (manager, place) = (PhotoManager(), CLLocation(latitude: 52.5, longitude: 13.4))
            for number in 0..<3 {
                let photo = Photo(title: "Sun \(number)", file: file, place: place)
                let error: Error? = await value { manager.save(photo, completion: $0) }
                #expect(error == nil && photo.imageURL != nil)
            }
            let query = manager.query(prefix: "Sun", near: place)
            var error: Error? = await value { manager.fetch(query, limit: 2, completion: $0) }
            #expect(error == nil && manager.photos.count == 2 && manager.hasMore)
            error = await value { manager.fetchMore(limit: 2, completion: $0) }
            #expect(error == nil && manager.photos.count == 3)
            #expect(manager.photos.allSatisfy { $0.imageURL != nil && $0.place != nil })
            for _ in 0..<2 {
                error = await value { manager.subscribe(completion: $0) }
                #expect(error == nil)
            }
            let deleted: (Int, Error?) = await value { done in
                manager.deleteAll { done(($0, $1)) }
            }
            #expect(deleted.0 == 3 && deleted.1 == nil)
            let push: [AnyHashable: Any] = ["ck": ["qry": ["fo": 1, "rid": "p", "dbs": 1]]]
            #expect(manager.handle(push) == "added p")
        }
    }

    /// Ada shares an album; then Bo is signed in, in the same app.
    @Test func albums() async throws {
        try await onServer { _, server in
            let sharing = AlbumSharing()
            let bo = try await server.makeUser("bo")
            try await server.setAddress("bo@example.org", of: "bo")
            let error: Error? = await value { sharing.makeZone(completion: $0) }
            #expect(error == nil)
            let shared: (URL?, Error?) = await value { done in
                sharing.share(album: "Oslo", with: "bo@example.org") { done(($0, $1)) }
            }
            let url = try #require(shared.0)
            CKContainer.connection.accessToken = bo
            let joined: (CKShare?, Error?) = await value { done in
                sharing.accept(url) { done(($0, $1)) }
            }
            #expect(joined.0?[CKShareTitleKey] as? String == "Oslo" && joined.1 == nil)
            let lines: [String] = await value { sharing.sharedAlbums(completion: $0) }
            #expect(lines == ["Oslo", "writer"])
        }
    }

    @Test func posts() async throws {
        try await asUser { _ in
            let controller = PostController()
            let created: Result<Post, Error> = await value { done in
                controller.create(caption: "Hello", completion: done)
            }
            let post = try created.get()
            for text in ["one", "two"] {
                let comment: Comment? = await value { done in
                    controller.addComment(text, to: post, completion: done)
                }
                #expect(comment?.text == text)
            }
            let record = try await controller.publicDB.record(for: post.recordID)
            #expect(record[PostKeys.commentCount] as? Int == 2)
            var fresh: [Comment]? = await value { done in
                controller.fetchComments(for: post, completion: done)
            }
            #expect(fresh?.isEmpty == true)
            post.comments.removeLast()
            fresh = await value { controller.fetchComments(for: post, completion: $0) }
            #expect(fresh?.map(\.text) == ["two"])
            for follows in [true, false] {
                let (now, error): (Bool, Error?) = await value { done in
                    controller.toggleFollow(post) { done(($0, $1)) }
                }
                #expect(now == follows && error == nil)
            }
        }
    }

    @Test func timeline() async throws {
        try await asUser { _ in
            let manager = CloudKitManager()
            let entries = (0..<5).map { number -> CKRecord in
                let entry = CKRecord(recordType: "Entry")
                entry["text"] = "entry \(number)"
                return entry
            }
            let saved: [CKRecord]? = await value { done in
                manager.saveRecords(entries, perRecordCompletion: nil) { records, _ in
                    done(records)
                }
            }
            #expect(saved?.count == 5)
            let mine: [CKRecord]? = await value { done in
                manager.fetchCurrentUserRecords("Entry") { records, _ in done(records) }
            }
            #expect(mine?.count == 5)
            let range: [CKRecord]? = await value { done in
                manager.fetchRecordsFromDateRange(
                    "Entry",
                    fromDate: Date.distantPast,
                    toDate: Date().addingTimeInterval(60)
                ) { records, _ in done(records) }
            }
            #expect(range?.count == 5)
            let isFound: Bool = await value {
                manager.requestDiscoverabilityPermission(completion: $0)
            }
            #expect(isFound)
            let gone: CKRecordID? = await value { done in
                manager.deleteRecordWithID(entries[0].recordID) { id, _ in done(id) }
            }
            #expect(gone == entries[0].recordID)
        }
    }

    @Test func restaurants() async throws {
        try await asUser { file in
            let store = RestaurantStore()
            let saved = try await store.save(name: "Café", type: "Coffee", image: file)
            try await store.refresh()
            try await store.refresh()
            let found = await store.restaurants
            #expect(found.map(\.recordID) == [saved.recordID])
            #expect(found.first?["image"] == nil && found.first?["name"] as? String == "Café")
            let image = try await store.image(of: saved)
            #expect(try image == Data(contentsOf: file))
        }
    }

    @Test func anotherAccountIsAnnounced() {
        CKContainer.connection = CumulusConnection(accessToken: "a")
        nonisolated(unsafe) var count = 0
        let observer = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged,
            object: nil,
            queue: nil
        ) { _ in count += 1 }
        CKContainer.connection.accessToken = "b"
        CKContainer.connection.assetDirectory = "/tmp/elsewhere"
        CKContainer.connection.accessToken = nil
        NotificationCenter.default.removeObserver(observer)
        #expect(count == 2 && CKContainer.connection.accessToken == nil)
    }

    /// If no container is named, the first call says what to do.
    @Test func anAppWithoutSettingsIsTold() async throws {
        CKContainer.connection = CumulusConnection()
        do {
            _ = try await CKContainer.default().userRecordID()
            Issue.record("a call without a container succeeded")
        } catch CKError.missingEntitlement {
        }
    }
}
