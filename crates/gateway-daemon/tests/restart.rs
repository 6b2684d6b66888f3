//! Far is killed and started again: the next connection succeeds, and reaches its server once.

mod world;

use std::io::{Read, Write};
use std::time::Duration;
use world::World;

#[test]
fn the_first_connection_after_far_was_killed_and_started_again_succeeds() {
    let world = World::new();
    let (near, mut far) = (world.near(), world.far(&world.keys[0]));
    world.exchange();
    far.child.kill().unwrap();
    far.child.wait().unwrap();
    let far = world.far(&world.keys[0]);
    // Between the clocks of both there are as many milliseconds as the first greeting was late.
    std::thread::sleep(Duration::from_secs(1));
    // Near does not know yet, unless it has asked by chance.
    world.exchange();
    let status = world.status("near.sock");
    assert_eq!(status["sessions"], 2);
    assert_eq!(world.status("far.sock")["accepted"], 1);
    // Nobody else came to the server.
    world.server.set_nonblocking(true).unwrap();
    assert!(world.server.accept().is_err());
    // One that was answered before the kill is reset, and not opened again.
    world.server.set_nonblocking(false).unwrap();
    let mut client = world.client(world.server.local_addr().unwrap().port());
    client.write_all(b"before").unwrap();
    let (mut server, _) = world.server.accept().unwrap();
    server.read_exact(&mut [0; 6]).unwrap();
    drop(far);
    let _far = world.far(&world.keys[0]);
    let mut rest = Vec::new();
    // Its server has lost it, too.
    assert!(client.read_to_end(&mut rest).is_err() || rest.is_empty());
    world.exchange();
    assert!(near.terminate());
}
