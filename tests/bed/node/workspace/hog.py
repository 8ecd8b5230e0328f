"""Takes more and more memory."""

held = []
while True:
    held.append(b"x" * (20 << 20))
    print(f"holds {20 * len(held)} MiB", flush=True)
