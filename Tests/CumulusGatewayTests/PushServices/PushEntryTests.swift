// The operator's file of push services: what it says, and mistakes in it.

import Crypto
import CumulusGateway
import CumulusModel
import Testing

@Suite struct PushEntryTests {
    private func problem(_ text: String) -> String {
        do throws(PushEntry.Problem) {
            _ = try PushEntry.entries(Bytes(text.utf8))
            return ""
        } catch {
            return error.description
        }
    }

    @Test func whatAnEntrySays() throws {
        let entries = try PushEntry.entries(
            Bytes(
                """
                [{"service": "apns", "keyFile": "a.p8", "keyID": "K1", "teamID": "T1",
                  "topics": ["com.example.a", "com.example.b"], "containers": ["iCloud.a"],
                  "url": "https://127.0.0.1:8443", "authority": "ca.pem"},
                 {"service": "apns", "keyFile": "b.p8", "keyID": "K2", "teamID": "T1",
                  "topics": ["com.example.c"], "containers": ["iCloud.b"]},
                 {"service": "web-push", "keyFile": "v.pem", "subject": "mailto:a@example.com"},
                 {"service": "fcm", "keyFile": "f.json"}]
                """.utf8
            )
        )
        #expect(entries.map(\.service) == [.apns, .apns, .webPush, .fcm])
        #expect(entries[0].url?.text == "https://127.0.0.1:8443")
        #expect(entries[0].authority == "ca.pem" && entries[0].keyID == "K1")
        #expect(entries[0].serves("iCloud.a") && !entries[0].serves("iCloud.b"))
        #expect(entries[3].serves("iCloud.b"))
        // Browsers' usual services, and nothing else.
        func leads(_ host: String) -> Bool {
            guard let address = WebAddress("https://\(host)/x") else { return false }
            return entries[2].hosts.contains { $0.leads(to: address) }
        }
        #expect(leads("fcm.googleapis.com") && leads("web.push.apple.com"))
        #expect(leads("wns2-par02p.notify.windows.com"))
        #expect(!leads("push.apple.com") && !leads("127.0.0.1") && !leads("evil.example.com"))
        #expect(!leads("evilpush.apple.com"))
        #expect(leads("fcm.googleapis.com:443") && !leads("fcm.googleapis.com:81"))
    }

    @Test func aHostMayNameAPort() throws {
        for (text, leads) in [
            ("push.example.com:8443", ["push.example.com:8443"]),
            ("*.example.com:8443", ["push.example.com:8443", "a.b.example.com:8443"]),
            ("Push.example.com", ["push.example.com", "push.example.com:443"]),
        ] {
            let host = PushHost(text)
            for place in [
                "push.example.com", "push.example.com:443", "push.example.com:8443",
                "a.b.example.com:8443", "example.com:8443", "push.example.com:80",
            ] {
                let address = try #require(WebAddress("https://\(place)/x"))
                #expect(host.leads(to: address) == leads.contains(place), "\(text), \(place)")
            }
        }
    }

    @Test(arguments: [
        ("{", "it is no JSON"),
        ("{}", "must be a list"),
        (#"[{"keyFile": "k"}]"#, "'[0].service' is missing"),
        (#"[{"service": "apn", "keyFile": "k"}]"#, "must be one of apns, web-push, fcm"),
        (#"[{"service": "fcm"}]"#, "'[0].keyFile' is missing"),
        (#"[{"service": "fcm", "keyFile": "k", "topics": []}]"#, "'[0].topics' is none of"),
        (#"[{"service": "fcm", "keyFile": "k", "url": "http://example.com"}]"#, "must be https"),
        (#"[{"service": "fcm", "keyFile": "k", "url": "https://e.com/x"}]"#, "must be https"),
        (#"[{"service": "fcm", "keyFile": "k", "containers": ["_x"]}]"#, "is no name of"),
        (#"[{"service": "web-push", "keyFile": "k"}]"#, "'[0].subject' is missing"),
        (
            #"[{"service": "web-push", "keyFile": "k", "subject": "ada"}]"#,
            "must begin with mailto: or https://"
        ),
        (
            #"[{"service": "web-push", "keyFile": "k", "subject": "mailto:a", "hosts": ["a b"]}]"#,
            "must list names"
        ),
        (
            #"[{"service": "web-push", "keyFile": "k", "subject": "mailto:a", "hosts": ["a:0x"]}]"#,
            "with a port unless it is 443"
        ),
        (#"[{"service": "apns", "keyFile": "k", "keyID": "K"}]"#, "'[0].teamID' is missing"),
        (
            #"[{"service": "apns", "keyFile": "k", "keyID": "K", "teamID": "T"}]"#,
            "must list the bundle ids"
        ),
        (
            #"[{"service": "fcm", "keyFile": "k"}, {"service": "fcm", "keyFile": "l"}]"#,
            "fcm is set up twice"
        ),
    ]) func mistakesAreToldWithTheirPlace(text: String, why: String) {
        #expect(problem(text).contains(why), "\(problem(text))")
    }

    /// What stands in a key's file is never told.
    @Test func aWrongKeyIsToldWithoutIt() throws {
        for (service, more) in [
            ("apns", #", "keyID": "K", "teamID": "T", "topics": ["t"]"#),
            ("web-push", #", "subject": "mailto:a""#), ("fcm", ""),
        ] {
            let entry = try PushSamples.entry(
                "[{\"service\": \"\(service)\", \"keyFile\": \"the.key\"\(more)}]"
            )
            do throws(PushEntry.Problem) {
                _ = try PushSetup(entry, keyFile: Bytes("not-a-key-but-secret".utf8))
                Issue.record("a wrong key was taken")
            } catch {
                #expect(error.description.hasPrefix("the.key must hold"))
                #expect(!error.description.contains("secret"))
            }
        }
    }

    /// Other authorities make another setup, so that connections are made with them.
    @Test func authoritiesCountWhenTheyChange() throws {
        let entry = try PushSamples.entry(
            #"[{"service": "web-push", "keyFile": "k", "subject": "mailto:a", "authority": "ca"}]"#
        )
        let key = Bytes(PushSamples.curveKey.pemRepresentation.utf8)
        #expect {
            try PushSetup(entry, keyFile: key, authority: Bytes("none".utf8))
        } throws: { error in
            "\(error)".hasPrefix("ca must hold certificates")
        }
    }

    @Test func aKeyOfWebPushMayBeABareNumber() throws {
        let entry = try PushSamples.entry(
            #"[{"service": "web-push", "keyFile": "k", "subject": "mailto:a"}]"#
        )
        let key = PushSamples.curveKey
        let bare = Bytes((Base64URL.encode(key.rawRepresentation) + "\n").utf8)
        let setup = try PushSetup(entry, keyFile: bare)
        #expect(setup.offer.publicKey == Bytes(key.publicKey.x963Representation))
        #expect(try setup != PushSetup(entry, keyFile: Bytes(key.pemRepresentation.utf8)))
    }

    @Test func aSetupIsForItsAppsAndHosts() throws {
        let apns = try PushSamples.apns()
        let address = try PushSamples.address(.apns)
        #expect(apns.pushes(to: address, in: "any"))
        var other = address
        other.topic = "com.example.other"
        #expect(!apns.pushes(to: other, in: "any"))
        #expect(try !apns.pushes(to: PushSamples.address(.fcm), in: "any"))
        var browser = PushSamples.Browser()
        #expect(try PushSamples.webPush().pushes(to: browser.address, in: "any"))
        browser.endpoint = "https://internal.example.com/x"
        #expect(try !PushSamples.webPush().pushes(to: browser.address, in: "any"))
    }
}
