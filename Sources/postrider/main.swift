print("postrider")
