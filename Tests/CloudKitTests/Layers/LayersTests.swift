// Model layers as others wrote them, on a node in this process: what one device saves another one
// has, and each behaves in a conflict as its author meant.
//
// The layers are compiled as they stand. They are given their containers, since the process's own
// connection belongs to `AppsTests`.

import CloudKit
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct LayersTests {
    private static let system = """
        "___recordID" REFERENCE QUERYABLE,
        GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
        """
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Habit (name STRING, streak INT64, changedAt TIMESTAMP, \(system));
            RECORD TYPE Note (text STRING, spot REFERENCE QUERYABLE, \(system));
            RECORD TYPE Recipe (
                title STRING QUERYABLE SORTABLE, servings INT64 QUERYABLE SORTABLE,
                ingredients LIST<STRING>, cookedAt TIMESTAMP, photo ASSET,
                privateNote ENCRYPTED STRING, \(system)
            );
            RECORD TYPE Sighting (
                bird STRING, count INT64, seenAt TIMESTAMP, location LOCATION, \(system)
            );
            RECORD TYPE Spot (
                name STRING, location LOCATION QUERYABLE, photo ASSET, \(system)
            );
        """

    /// What a test has: two devices of one user, and a folder for files.
    private struct Cloud {
        let phone: CKContainer
        let tablet: CKContainer
        let folder: URL

        func file(_ name: String) throws -> URL {
            let file = folder.appending(path: name)
            try Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* $0) }).write(to: file)
            return file
        }
    }

    private func run(_ body: (Cloud) async throws -> Void) async throws {
        let folder = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try await TestServer()
        try await server.importSchema(Self.schema)
        let token = try await server.makeUser("ada")
        let containers = ["phone", "tablet"].map { device -> CKContainer in
            var connection = CumulusConnection(endpoints: [server.endpoint], accessToken: token)
            connection.deviceID = device
            connection.assetDirectory = folder.appending(path: device).path
            connection.encryptionKeys = [String(repeating: "5a", count: 32)]
            return CKContainer(identifier: TestServer.container, connection: connection)
        }
        let cloud = Cloud(phone: containers[0], tablet: containers[1], folder: folder)
        let result: Result<Void, Error>
        do {
            result = .success(try await body(cloud))
        } catch {
            result = .failure(error)
        }
        for container in containers { await container.close() }
        try await server.stop()
        try result.get()
    }

    /// Waits for what a handler gets.
    private func value<Value>(_ body: (@escaping (Value) -> Void) -> Void) async -> Value {
        await withCheckedContinuation { done in body { done.resume(returning: $0) } }
    }

    // MARK: - 2016: operations with blocks, and a cache

    /// What the phone saves reaches the tablet by a notification; the larger count stands.
    @Test func sightingsAreCachedOnTwoDevices() async throws {
        try await run { cloud in
            let phone = SightingCache(container: cloud.phone)
            let tablet = SightingCache(container: cloud.tablet)
            for cache in [phone, tablet] {
                let error: Error? = await value { cache.start(completion: $0) }
                #expect(error == nil && cache.createdCustomZone)
                #expect(cache.subscribedToPrivateChanges)
            }
            let here = CLLocation(latitude: 53.1, longitude: 8.2)
            let stork = Sighting(bird: "Stork", count: 2, location: here, in: phone.zoneID)
            let crane = Sighting(bird: "Crane", count: 1, location: nil, in: phone.zoneID)
            var error: Error? = await value { phone.save([stork, crane], completion: $0) }
            #expect(error == nil && phone.sightings.count == 2)

            error = await value { tablet.fetchChanges(in: .private, completion: $0) }
            #expect(error == nil && tablet.sightings.count == 2)
            let copy = try #require(tablet.sightings[stork.recordID])
            #expect(copy.bird == "Stork" && copy.count == 2)
            #expect(copy.location?.coordinate.latitude == here.coordinate.latitude)

            // Both count more; the second one to save meets a conflict, and saves again.
            stork.count = 3
            copy.count = 7
            error = await value { phone.save([stork], completion: $0) }
            #expect(error == nil)
            error = await value { tablet.save([copy], completion: $0) }
            #expect((error as? CKError)?.code == .serverRecordChanged && copy.count == 7)
            error = await value { tablet.save([copy], completion: $0) }
            #expect(error == nil)
            error = await value { tablet.delete(copy, completion: $0) }
            #expect(error == nil && tablet.sightings.count == 1)
            error = await value { phone.fetchChanges(in: .private, completion: $0) }
            #expect(error == nil && Array(phone.sightings.keys) == [crane.recordID])
        }
    }

    /// The dictionary of a notification is what the app's delegate expects of a push service.
    @Test func aNotificationBringsASighting() async throws {
        try await run { cloud in
            let phone = SightingCache(container: cloud.phone)
            // One notification is handled after the other.
            nonisolated(unsafe) let tablet = SightingCache(container: cloud.tablet)
            for cache in [phone, tablet] {
                let error: Error? = await value { cache.start(completion: $0) }
                #expect(error == nil)
            }
            let (news, arrived) = AsyncStream.makeStream(of: Bool.self)
            let receiver = CKNotificationReceiver(container: cloud.tablet)
            let listening = Task {
                try await receiver.run { userInfo in
                    let isHandled: Bool = await value {
                        tablet.didReceiveRemoteNotification(userInfo, completion: $0)
                    }
                    arrived.yield(isHandled)
                }
            }
            defer { listening.cancel() }
            // A receiver without a token begins with what happens after it has begun.
            var iterator = news.makeAsyncIterator()
            let writing = Task {
                while !Task.isCancelled {
                    let swift = Sighting(bird: "Swift", count: 9, location: nil, in: phone.zoneID)
                    let _: Error? = await value { phone.save([swift], completion: $0) }
                    try await Task.sleep(nanoseconds: 200_000_000)
                }
            }
            defer { writing.cancel() }
            #expect(await iterator.next() == true)
            #expect(tablet.sightings.values.contains { $0.bird == "Swift" && $0.count == 9 })
        }
    }

    @Test func spotsAreFoundByDistance() async throws {
        try await run { cloud in
            let cache = SightingCache(container: cloud.phone)
            let photo = try cloud.file("photo")
            let places = ["Dike": 53.10, "Marsh": 53.12, "Far": 54.9]
            var spots: [String: CKRecord] = [:]
            for (name, latitude) in places {
                let place = CLLocation(latitude: latitude, longitude: 8.2)
                let (spot, error): (CKRecord?, Error?) = await value { done in
                    cache.addSpot(named: name, at: place, photo: photo) { done(($0, $1)) }
                }
                #expect(error == nil && spot?.recordID.recordName == "spot-" + name)
                spots[name] = spot
            }
            let dike = try #require(spots["Dike"])
            let error: Error? = await value { cache.addNote("Herons", to: dike, completion: $0) }
            #expect(error == nil)
            let notes: [CKRecord]? = await value { done in
                cache.notes(of: dike) { records, _ in done(records) }
            }
            #expect(notes?.map { $0["text"] as? String } == ["Herons"])

            // One at a time, the nearest first; the photo is not asked for.
            let here = CLLocation(latitude: 53.09, longitude: 8.2)
            var names: [String?] = []
            let add = { (record: CKRecord) -> Void in
                names.append(record["name"] as? String)
                #expect(record["photo"] == nil)
            }
            var (cursor, problem): (CKQueryCursor?, Error?) = await value { done in
                cache.findSpots(near: here, within: 20, found: add) { done(($0, $1)) }
            }
            #expect(problem == nil && names == ["Dike"])
            (cursor, problem) = await value { [cursor] done in
                guard let cursor = cursor else { return done((nil, CKError(.internalError))) }
                cache.findMoreSpots(from: cursor, found: { names.append($0["name"] as? String) }) {
                    done(($0, $1))
                }
            }
            #expect(problem == nil && cursor == nil && names == ["Dike", "Marsh"])
        }
    }

    // MARK: - 2022: calls with await

    @MainActor @Test func recipesAreKeptOnTwoDevices() async throws {
        try await run { cloud in
            let phone = RecipeStore(container: cloud.phone)
            let tablet = RecipeStore(container: cloud.tablet)
            try await phone.prepare()
            try await tablet.prepare()
            let zoneID = CKRecordZone.ID(zoneName: "Recipes")
            var soups = ["Soup A", "Soup B", "Soup C", "Salad"].map {
                Recipe(title: $0, servings: 4, ingredients: ["salt"], zoneID: zoneID)
            }
            soups[0].privateNote = "grandmother's"
            soups[2].servings = 1
            #expect(try await phone.importAll(soups) == 4)
            let found = try await tablet.search("Soup")
            #expect(found.map(\.title) == ["Soup A", "Soup B"])
            #expect(found.allSatisfy { $0.ingredients.isEmpty && $0.servings == 4 })

            await tablet.refresh()
            guard case .loaded = tablet.state else {
                Issue.record("the tablet is \(tablet.state)")
                return
            }
            #expect(tablet.recipes.map(\.title) == ["Salad", "Soup A", "Soup B", "Soup C"])
            var mine = tablet.recipes[1]
            #expect(mine.privateNote == "grandmother's" && mine.ingredients == ["salt"])

            // The second one to save is told what the recipe is now.
            soups[0].servings = 8
            try await phone.save(soups[0])
            mine.servings = 2
            do {
                try await tablet.save(mine)
                Issue.record("a conflict was not seen")
            } catch RecipeError.changedElsewhere(let current) {
                #expect(current.servings == 8)
            }
            #expect(try await tablet.save(mine).servings == 2)

            let photo = try cloud.file("photo")
            var share = 0.0
            let withPhoto = try await tablet.attach(photo, to: mine) { share = $0 }
            #expect(withPhoto.photoURL != nil && share == 1)
            await phone.refresh()
            let onPhone = try #require(phone.recipes.first { $0.id == mine.id })
            let file = try #require(onPhone.photoURL)
            #expect(try Data(contentsOf: file) == Data(contentsOf: photo))

            #expect(
                try await phone.load([mine.id, soups[1].id]).map(\.title) == ["Soup A", "Soup B"]
            )
            try await phone.delete(onPhone)
            do {
                try await tablet.save(mine)
                Issue.record("a deleted recipe was saved")
            } catch RecipeError.gone {
            }
            await tablet.refresh()
            #expect(tablet.recipes.map(\.title) == ["Salad", "Soup B", "Soup C"])
            #expect(try await phone.zones().contains { $0.hasPrefix("Recipes of ") })
        }
    }

    @MainActor @Test func signedOutThereAreNoRecipes() async throws {
        let server = try await TestServer()
        let connection = CumulusConnection(endpoints: [server.endpoint])
        let container = CKContainer(identifier: TestServer.container, connection: connection)
        do {
            try await RecipeStore(container: container).prepare()
            Issue.record("a guest has recipes")
        } catch RecipeError.noAccount(let status) {
            #expect(status == .noAccount)
        }
        await container.close()
        try await server.stop()
    }

    // MARK: - CKSyncEngine

    /// Syncs until nothing is left to send: what an event's handler adds goes with the next send.
    private func sync(_ database: HabitDatabase) async throws {
        for _ in 0..<3 {
            try? await database.sync()
            if await database.syncEngine.state.pendingRecordZoneChanges.isEmpty { break }
        }
        try await database.sync()
        #expect(await database.syncEngine.state.pendingRecordZoneChanges.isEmpty)
        #expect(await database.syncEngine.state.pendingDatabaseChanges.isEmpty)
    }

    /// Waits until what changes now is later than a date on every device.
    ///
    /// A date field holds whole milliseconds, to the nearest one. The layer compares its own date
    /// with a rounded one, so of two changes within a millisecond it may keep either.
    private func waitUntilLater(than date: Date) async throws {
        while Date() < date.addingTimeInterval(0.002) {
            try await Task.sleep(nanoseconds: 1_000_000)
        }
    }

    @Test func habitsAreSyncedByTheEngine() async throws {
        try await run { cloud in
            let files = ["phone.json", "tablet.json"].map { cloud.folder.appending(path: $0) }
            func device(_ container: CKContainer, _ file: URL) -> HabitDatabase {
                HabitDatabase(container: container, dataURL: file, automaticallySync: false)
            }
            var phone = device(cloud.phone, files[0])
            let tablet = device(cloud.tablet, files[1])
            try await phone.save([Habit(name: "Read"), Habit(name: "Walk")])
            // The zone is not there at first: the app makes it and sends again.
            try await sync(phone)
            try await sync(tablet)
            #expect(await tablet.habits.map(\.name) == ["Read", "Walk"])

            // The later change stands on both.
            var (early, late) = (await phone.habits[0], await tablet.habits[0])
            early.streak = 1
            late.streak = 5
            try await phone.save([early])
            try await waitUntilLater(than: phone.habits[0].changedAt)
            try await tablet.save([late])
            try await sync(phone)
            try await sync(tablet)
            try await sync(phone)
            #expect(await phone.habits.map(\.streak) == [5, 0])
            #expect(await tablet.habits.map(\.streak) == [5, 0])

            // The app ends, and goes on with what its file holds.
            phone = device(cloud.phone, files[0])
            #expect(await phone.habits.map(\.streak) == [5, 0])
            try await tablet.delete([late.id])
            try await sync(tablet)
            try await sync(phone)
            #expect(await phone.habits.map(\.name) == ["Walk"])

            try await phone.deleteEverything()
            try await sync(phone)
            try await sync(tablet)
            #expect(await tablet.habits.isEmpty)
        }
    }
}
