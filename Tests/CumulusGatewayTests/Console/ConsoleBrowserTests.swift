// The console in a real browser: each page's main act, with a picture of each.
//
// Skipped where chromedriver is not installed. CUMULUS_BROWSER=require makes that a failure, and
// CUMULUS_SCREENSHOTS names the folder for the pictures. It takes about a minute: a browser starts,
// and one page draws a node's numbers over some seconds.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .enabled(if: WebDriver.isWanted, WebDriver.skipped))
struct ConsoleBrowserTests {
    private static let schema = """
        DEFINE SCHEMA
        CREATE ROLE editor;
        RECORD TYPE Folder (
            "___recordID" REFERENCE QUERYABLE, name STRING QUERYABLE SORTABLE,
            GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
        );
        RECORD TYPE Note (
            "___recordID" REFERENCE QUERYABLE, title STRING QUERYABLE SORTABLE SEARCHABLE,
            stars INT64 QUERYABLE SORTABLE, photo ASSET, tags LIST<STRING> QUERYABLE,
            folder REFERENCE QUERYABLE, due TIMESTAMP SORTABLE, place LOCATION QUERYABLE,
            GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator",
            GRANT READ, CREATE, WRITE TO editor
        );
        RECORD TYPE Reading (
            value INT64,
            GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
        );
        """
    /// More than a page of records of the type Reading.
    static let readings = 1_050

    /// Small gradients, as PNG.
    static let pictures = [
        "iVBORw0KGgoAAAANSUhEUgAAAAwAAAAJCAIAAACJ2loDAAAAXUlEQVR42mN4UeHwoMDhRoHDhQyPExkeBxI8dk"
            + "QEbIgIWBEQsQCIPCJmOCQwEFQxAaiIoIoOiwwGgioagIoIqqgwyGAgqKLAoICBoIoMjQIGgioSFCoYCKqI"
            + "UKgAAD5YiNnvP1T8AAAAAElFTkSuQmCC",
        "iVBORw0KGgoAAAANSUhEUgAAAAwAAAAJCAIAAACJ2loDAAAAXUlEQVR42oXKEQLAMAwF0BxnuCMMh8PhjjAMFo"
            + "fBYDAYDBaLxWFxx1hv8B8/WqSukpvmrnFYnOaX++3OYSVMUjWV4LAqBIfPBEe0h+CoM8HReiE4+kxwjJcJ"
            + "jm/wDzjpxmHqCrg/AAAAAElFTkSuQmCC",
        "iVBORw0KGgoAAAANSUhEUgAAAAwAAAAJCAIAAACJ2loDAAAAU0lEQVR42mNwWBBhMQOIEiwmJBh0gFFDgkFFgg"
            + "YQFSRoZGQAEQNBFQoJIEUEVChEABURUgFSRFCFQgBEEV4VEh5ARYRUgBURUiHhUMBAUIWAQwEAW35pOTbm"
            + "FRoAAAAASUVORK5CYII=",
    ]

    private static let titles = [
        "Tea in Kyoto", "Packing list", "Ideas for the talk", "Reading notes", "Sourdough, again",
        "Trail map", "Letters to answer", "Garden plan",
    ]

    static var folder: URL {
        let name = ProcessInfo.processInfo.environment["CUMULUS_SCREENSHOTS"]
        let temporary = FileManager.default.temporaryDirectory
        return name.map { URL(fileURLWithPath: $0) } ?? temporary.appending(path: "console")
    }

    /// Users, records with pictures and references, a subscription, and a server's key.
    private func populate(_ server: TestServer) async throws {
        try await server.importSchema(Self.schema)
        let token = try await server.makeUser("ada")
        let admin = server.nodeOperator()
        for name in ["berta", "chandra"] { _ = try await admin.addUser(name, in: nil) }
        try await admin.setPassword(of: "ada", to: "correct horse")
        _ = try await admin.addKey(
            ServiceKey.publicKey(ofPEM: ServiceKey.makePEM()),
            label: "importer",
            expires: nil,
            in: TestServer.container,
            .development
        )
        await admin.close()

        let ada = server.container(token: token, deviceID: "phone-7f31")
        var folder = Record(recordType: "Folder", recordID: .init(recordName: "travel"))
        folder["name"] = .string("Travel")
        _ = try await ada.publicCloudDatabase.save(folder)
        for (index, title) in Self.titles.enumerated() {
            var note = Record(recordType: "Note", recordID: .init(recordName: "note-\(index)"))
            let picture = Data(base64Encoded: Self.pictures[index % Self.pictures.count]) ?? Data()
            note["title"] = .string(title)
            note["stars"] = .int64(Int64(index % 6))
            note["photo"] = .asset(Asset(data: picture))
            note["tags"] = .list([.string("paper"), .string("home")])
            note["folder"] = .reference(.init(recordName: "travel"))
            note["place"] = .location(Location(latitude: 35.0116, longitude: 135.7681))
            _ = try await ada.publicCloudDatabase.save(note)
        }
        let readings = (0..<Self.readings).map { number in
            let id = Record.ID(recordName: "reading-\(10_000 + number)")
            var reading = Record(recordType: "Reading", recordID: id)
            reading["value"] = .int64(Int64(number))
            return reading
        }
        for start in stride(from: 0, to: readings.count, by: 150) {
            let part = Array(readings[start..<min(start + 150, readings.count)])
            _ = try await ada.publicCloudDatabase.modifyRecords(
                saving: part,
                deleting: [],
                atomically: false
            )
        }
        var diary = Record(recordType: "Note", recordID: .init(recordName: "diary"))
        diary["title"] = .string("Nobody else reads this")
        _ = try await ada.privateCloudDatabase.save(diary)
        _ = try await ada.publicCloudDatabase.save(
            Subscription(
                id: "new-notes",
                kind: .query(
                    recordType: "Note",
                    predicate: try Query.Predicate(format: "TRUEPREDICATE"),
                    zone: nil
                ),
                options: [.firesOnRecordCreation]
            )
        )
        await ada.close()
    }

    /// Serves the console over HTTP for the length of a test.
    func withPages(
        fill: (inout ConsoleSources) -> Void = { _ in },
        _ body: @escaping @Sendable (_ url: String) throws -> Void
    ) async throws {
        let server = try await TestServer()
        do {
            try await populate(server)
            try await serveConsole(server, fill: fill) { endpoint in
                let url = "http://\(endpoint)/console"
                try await onThread { try body(url) }
            }
        } catch {
            Issue.record(error)
        }
        try await server.stop()
    }

    @Test func everyPageDoesItsMainAct() async throws {
        try await withPages { url in
            let browser = try WebDriver(screenshots: Self.folder)
            defer { browser.quit() }
            let scope = "\(TestServer.container)/development"
            func visit(_ page: String) throws {
                try browser.open("\(url)#/\(page)/\(scope)")
                try browser.wait(
                    for: "document.querySelector('h1') && !document.querySelector('[aria-busy]')"
                )
            }
            try signIn(browser, url)
            try visit("containers")
            try containers(browser)
            try visit("schema")
            try schema(browser)
            try visit("records")
            try records(browser)
            try files(browser)
            try visit("people")
            try people(browser)
            try visit("cluster")
            try browser.click("Lag and digests")
            try browser.see("the cluster's own")
            try browser.shoot("5-cluster")
            try browser.click("Conflicts")
            try browser.see("This node met no concurrent changes")
            try visit("live")
            try browser.wait(for: "document.querySelector('.plot .line')?.getAttribute('d')")
            try browser.see("/s calls")
            try browser.shoot("6-live")
            try visit("sync")
            try browser.see("The node is ready")
            try browser.see("in 1 private zone")
            try browser.see("new-notes")
            try browser.shoot("7-sync")
            #expect(try browser.complaints() == [])
            try browser.click("Sign out")
            try browser.see("Sign in with the operator token")
        }
    }

    /// Signs in, after a mistake.
    private func signIn(_ browser: WebDriver, _ url: String) throws {
        try browser.open(url)
        try browser.type("wrong", into: "token")
        try browser.click("Sign in")
        try browser.see("this is not the node's operator token")
        try browser.shoot("0-sign-in")
        // The browser notes the refusal.
        #expect(try browser.complaints().allSatisfy { $0.contains("401") })
        try browser.type(TestServer.operatorToken, into: "token")
        try browser.click("Sign in")
        try browser.see("Containers")
        let cookies = try browser.run("return document.cookie")
        #expect(cookies == "", "scripts see no cookie")
    }

    private func containers(_ browser: WebDriver) throws {
        try browser.see("1,060\nrecords")
        try browser.type("iCloud.dev.cumulus.more", into: "new-container")
        try browser.click("Create")
        try browser.see("Container iCloud.dev.cumulus.more is there.")
        try browser.wait(for: "document.querySelectorAll('section h2').length >= 4")
        try browser.shoot("1-containers")
    }

    private func schema(_ browser: WebDriver) throws {
        try browser.click("Note", ".list button")
        try browser.see("LIST<STRING>")
        try browser.shoot("2-schema")
        try browser.type("mood", into: "new-field")
        try browser.click("Add field")
        try browser.see("+ field Note.mood STRING")
        try browser.click("Import into development")
        try browser.see("The schema is imported.")
        try browser.click("Differences")
        try browser.see("+ type Note")
        try browser.shoot("2-schema-differences")
        try browser.click("Deploy to production")
        try browser.click("Deploy", "dialog button.main")
        try browser.see("Deployed to production.")
        try browser.click("Roles")
        try browser.type("ada", into: "role-user")
        try browser.click("Give", "button.main")
        try browser.see("ada has editor now.")
    }

    private func records(_ browser: WebDriver) throws {
        try browser.type("Note", into: "type")
        try browser.type("stars >= 2", into: "where")
        try browser.type("-stars", into: "sort")
        try browser.click("Find")
        try browser.see("Ideas for the talk")
        try browser.click("note-2", "td button")
        try browser.wait(
            for: "[...document.querySelectorAll('dl img')].some((image) => image.naturalWidth > 0)"
        )
        try browser.shoot("3-records")
        try browser.click("travel", "dl button")
        try browser.see("Travel")
        // An invalid predicate is reported with the place of its error.
        try browser.type("stars >", into: "where")
        try browser.click("Find")
        try browser.see("predicate format, at ")
        #expect(try browser.complaints().allSatisfy { $0.contains("400") })

        try browser.click("Act as a user")
        try browser.type("ada", into: "name")
        try browser.type("correct horse", into: "password")
        try browser.click("Act as this user", "dialog button")
        try browser.see("You act as ada now.")
        try browser.type("Note", into: "type")
        try browser.click("Find")
        try browser.click("note-2", "td button")
        try browser.click("Edit")
        try browser.type("Ideas for another talk", into: "title")
        try browser.shoot("3-edit")
        try browser.click("Save")
        try browser.see("Saved.")
        try browser.see("Ideas for another talk")
        // A refused edit changes nothing.
        try browser.click("Edit")
        try browser.type(String(repeating: "x", count: 300), into: "folder")
        try browser.click("Save")
        try browser.see("the record name of its reference is 300 bytes long")
        #expect(try browser.complaints().allSatisfy { $0.contains("400") })
        try browser.click("Cancel")
        try browser.click("Discard", "dialog button")
        try browser.see("stars\n2")
        try browser.click("Delete")
        try browser.click("Delete", "dialog button.main")
        try browser.see("note-2 is deleted.")
        try browser.type("private", into: "database")
        try browser.type("Note", into: "type")
        try browser.click("Find")
        try browser.see("Nobody else reads this")
    }

    /// The requests are made as the user for whom `records` acts.
    private func files(_ browser: WebDriver) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pictures = try Self.pictures.enumerated().map { index, text in
            let file = folder.appending(path: "picture-\(index).png")
            try (Data(base64Encoded: text) ?? Data()).write(to: file)
            return file
        }
        let address = "document.querySelector('dl img')?.src"
        let isShown = "document.querySelector('dl img')?.naturalWidth > 0"

        try browser.type("public", into: "database")
        try browser.type("Note", into: "type")
        try browser.click("New record")
        try browser.type("postcard", into: "recordName")
        try browser.type("From Kyoto", into: "title")
        try browser.type("travel", into: "folder")
        try browser.attach(pictures[0], to: "photo")
        try browser.see("picture-0.png")
        try browser.click("Save")
        try browser.wait(for: isShown)
        let first = try browser.run("return \(address)").string ?? ""
        try browser.click("travel", "dl button")
        try browser.wait(
            for: "[...document.querySelectorAll('h2')].some((each) => each.innerText === 'travel')"
        )

        // A refused edit keeps the file that was chosen.
        try browser.click("postcard", "td button")
        try browser.wait(for: isShown)
        try browser.click("Edit")
        try browser.attach(pictures[1], to: "photo")
        try browser.see("picture-1.png")
        try browser.shoot("3-file")
        try browser.type(String(repeating: "x", count: 300), into: "folder")
        try browser.click("Save")
        try browser.wait(for: "document.querySelector('form .wrong')")
        try browser.see("uploaded, not saved yet")
        #expect(try browser.complaints().allSatisfy { $0.contains("400") })
        try browser.type("travel", into: "folder")
        try browser.click("Save")
        try browser.wait(for: "\(isShown) && \(address) !== arguments[0]", first)

        try browser.click("Edit")
        try browser.click("Remove", "fieldset button")
        try browser.see("No file.")
        try browser.click("Save")
        try browser.wait(for: "document.querySelector('dl') && !\(address)")
    }

    private func people(_ browser: WebDriver) throws {
        try browser.click("ada", ".list button")
        try browser.see("Sessions and tokens")
        try browser.see("new-notes")
        try browser.shoot("4-users")
        try browser.click("berta", ".list button")
        try browser.see("The user is signed in nowhere.")
        try browser.click("Disable")
        try browser.click("Disable", "dialog button.main")
        try browser.see("berta is disabled.")
        // The page is made anew.
        try browser.wait(
            for: """
                [...document.querySelectorAll(".list button")]
                  .some((each) => each.textContent === "berta disabled")
                """
        )
        try browser.click("Service keys")
        try browser.see("importer")
        try browser.click("Revoke")
        try browser.click("Revoke", "dialog button.main")
        try browser.see("The key is revoked.")
    }
}
