// The example apps, as they are built, play their stories.
//
// A story takes more than 5 seconds: three nodes start one after the other, one of them is killed
// and started again, and photographs of a megabyte travel to all of them.

import CumulusTesting
import Foundation
import Testing

#if os(Linux)
    @Suite(.timeLimit(.minutes(3))) struct ExampleTests {
        @Test func peopleSharePhotos() async throws {
            try await ExampleStory.play("CloudPhotos") { story in
                let left = try await story.ask([
                    "query", "Photo", "--count", "--database", "public",
                ])
                #expect(left.code == 0 && left.output.contains("2"), "\(left)")
            }
        }

        /// Comments are deleted with their post, including other users' comments.
        @Test func peopleCommentOnPosts() async throws {
            try await ExampleStory.play("Continuum") { story in
                let left = try await story.ask([
                    "query", "Comment", "--json", "--database", "public",
                ])
                #expect(left.code == 0 && !left.output.contains("Nice people"), "\(left)")
                #expect(left.output.contains("Wonderful"), "\(left)")
            }
        }

        /// What one user deletes is gone on the other one's device; nothing else is.
        @Test func peopleKeepATimeline() async throws {
            try await ExampleStory.play("Timeline") { story in
                let left = try await story.ask(["query", "Entry", "--database", "public"])
                for text in ["In the clouds", "Above the sea", "On the ground"] {
                    #expect(left.code == 0 && left.output.contains(text), "\(left)")
                }
                #expect(!left.output.contains("Good morning"), "\(left)")
                let comments = try await story.ask([
                    "query", "Comment", "--count", "--database", "public",
                ])
                #expect(comments.code == 0 && comments.output.contains("0"), "\(comments)")
            }
        }

        /// Only the user with the role has added restaurants.
        ///
        /// Bo's device keeps the images of the remaining restaurants.
        @Test func peopleDiscoverRestaurants() async throws {
            try await ExampleStory.play("FoodPin") { story in
                let left = try await story.ask([
                    "query", "Restaurant", "--json", "--database", "public",
                ])
                for name in ["At the bridge", "Mountain hut", "Round table"] {
                    #expect(left.code == 0 && left.output.contains(name), "\(left)")
                }
                #expect(!left.output.contains("Vinothek"), "\(left)")
                let images = try FileManager.default.contentsOfDirectory(
                    atPath: "\(story.folder.path)/bo/.cache/FoodPin"
                )
                #expect(images.count == 3, "\(images)")
            }
        }

        /// A script that can't go on says where and why, and exits with 1.
        @Test func aScriptEndsAtTheStepThatFails() async throws {
            let folder = try TestFolder()
            let script = "\(folder.path)/script.txt"
            try "# a comment\nhelp list\nexpect \"a picture\" who\nlist\n"
                .write(toFile: script, atomically: true, encoding: .utf8)
            let files = ["\(folder.path)/out", "\(folder.path)/err"]
            let process = try ChildProcess(
                [try ChildProcess.builtProgram("CloudPhotos"), "--script", script],
                variables: ["HOME": folder.path],
                output: files[0],
                errors: files[1]
            )
            #expect(try await process.waitForEnd(seconds: 20) == .exit(1))
            let errors = try String(contentsOfFile: files[1], encoding: .utf8)
            let sentence = """
                CloudPhotos: Line 3, 'expect "a picture" who', failed: 'a picture' was not shown.\n
                """
            #expect(errors == sentence)
            let output = try String(contentsOfFile: files[0], encoding: .utf8)
            #expect(output.contains("Not connected: the app doesn't say which container it uses"))
            #expect(!output.contains("> list"))
        }
    }
#endif
